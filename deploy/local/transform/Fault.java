package mirrorwatch;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Harms the records of a mirror while a file says so, and passes them untouched otherwise.
 *
 * The file named by `switch` is a properties file, looked at before each record, so that another process
 * can begin and end a fault while the mirror runs and knows from which record on it holds. Its keys:
 *
 *   mode       drop, alter (value), unkey, unvalue, unheader (drops key, value, all headers), retime,
 *              misroute (into `to`), repartition (into the next of `count` partitions), slow, hang, fail
 *   topics     regular expression, matched in full against the topic's name on the source
 *   partition  only this partition (default: all)
 *   modulus, remainder   only source offsets with offset % modulus == remainder (default: all)
 *   select     all, tombstones (null values), or header:NAME (records that carry it)
 *   to         the topic for misroute, as it is named on the target
 *   count      how many partitions the topic has, for repartition
 *   pause.ms   how long slow waits before each record; hang waits for as long as the same order stands
 *
 * Heartbeats and checkpoints, which are not copies of a record, pass untouched.
 */
public class Fault implements Transformation<SourceRecord> {
    private Path file;
    private String seen = "";
    private Properties order;
    private Pattern topics;

    @Override
    public ConfigDef config() {
        return new ConfigDef().define("switch", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH,
            "The file that says what to do; without it, nothing.");
    }

    @Override
    public void configure(Map<String, ?> configs) {
        file = Path.of(configs.get("switch").toString());
    }

    @Override
    public void close() {
    }

    @Override
    public SourceRecord apply(SourceRecord record) {
        look();
        if (order == null || !chosen(record)) {
            return record;
        }
        switch (order.getProperty("mode", "")) {
            case "drop":
                return null;
            case "alter":
                return copy(record, record.topic(), altered(record.value()), record.timestamp(), true);
            case "unkey":
                return record.newRecord(record.topic(), record.kafkaPartition(), record.keySchema(), null,
                    record.valueSchema(), record.value(), record.timestamp(), record.headers());
            case "unvalue":
                return copy(record, record.topic(), null, record.timestamp(), true);
            case "unheader":
                return copy(record, record.topic(), record.value(), record.timestamp(), false);
            case "retime":
                return copy(record, record.topic(), record.value(), record.timestamp() + 3_600_000L, true);
            case "misroute":
                return copy(record, order.getProperty("to"), record.value(), record.timestamp(), true);
            case "repartition":
                int next = (record.kafkaPartition() + 1) % Integer.parseInt(order.getProperty("count"));
                return record.newRecord(record.topic(), next, record.keySchema(), record.key(),
                    record.valueSchema(), record.value(), record.timestamp(), record.headers());
            case "hang":
                for (String begun = seen; begun.equals(seen); look()) {
                    pause(20);
                }
                return record;
            case "slow":
                pause(Long.parseLong(order.getProperty("pause.ms", "100")));
                return record;
            case "fail":
                throw new DataException("the local stack was told to fail this record");
            default:
                throw new ConnectException(file + " holds no known mode");
        }
    }

    private void look() {
        try {
            // Whoever writes the file renames it into place, so it is never seen half-written.
            // Its inode and time together tell one order from the next, even within one tick of the clock.
            BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
            String modified = attributes.lastModifiedTime() + " " + attributes.fileKey();
            if (modified.equals(seen)) {
                return;
            }
            Properties read = new Properties();
            try (Reader reader = Files.newBufferedReader(file)) {
                read.load(reader);
            }
            topics = Pattern.compile(read.getProperty("topics", ".*"));
            order = read;
            seen = modified;
        } catch (NoSuchFileException absent) {
            order = null;
            seen = "";
        } catch (IOException error) {
            throw new ConnectException("cannot read " + file, error);
        }
    }

    private boolean chosen(SourceRecord record) {
        Object topic = record.sourcePartition().get("topic");
        if (topic == null || !topics.matcher(topic.toString()).matches()) {
            return false;
        }
        String partition = order.getProperty("partition");
        if (partition != null && Integer.parseInt(partition) != record.kafkaPartition()) {
            return false;
        }
        long offset = ((Number) record.sourceOffset().get("offset")).longValue();
        long modulus = Long.parseLong(order.getProperty("modulus", "1"));
        if (offset % modulus != Long.parseLong(order.getProperty("remainder", "0"))) {
            return false;
        }
        String select = order.getProperty("select", "all");
        if (select.equals("tombstones")) {
            return record.value() == null;
        }
        if (select.startsWith("header:")) {
            return record.headers().lastWithName(select.substring("header:".length())) != null;
        }
        return true;
    }

    private static Object altered(Object value) {
        byte[] bytes = value == null ? new byte[1] : ((byte[]) value).clone();
        if (bytes.length == 0) {
            return new byte[1];
        }
        bytes[bytes.length - 1] ^= 1;
        return bytes;
    }

    private static SourceRecord copy(SourceRecord record, String topic, Object value, Long timestamp, boolean headers) {
        Integer partition = topic.equals(record.topic()) ? record.kafkaPartition() : null;
        return record.newRecord(topic, partition, record.keySchema(), record.key(), record.valueSchema(), value,
            timestamp, headers ? record.headers() : new ConnectHeaders());
    }

    private static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
