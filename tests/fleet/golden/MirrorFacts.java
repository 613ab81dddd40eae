import java.io.BufferedOutputStream;
import java.io.PrintStream;
import java.io.Reader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.mirror.ConfigPropertyFilter;
import org.apache.kafka.connect.mirror.DefaultGroupFilter;
import org.apache.kafka.connect.mirror.DefaultTopicFilter;
import org.apache.kafka.connect.mirror.GroupFilter;
import org.apache.kafka.connect.mirror.MirrorCheckpointConnector;
import org.apache.kafka.connect.mirror.MirrorHeartbeatConnector;
import org.apache.kafka.connect.mirror.MirrorMakerConfig;
import org.apache.kafka.connect.mirror.MirrorSourceConnector;
import org.apache.kafka.connect.mirror.ReplicationPolicy;
import org.apache.kafka.connect.mirror.SourceAndTarget;
import org.apache.kafka.connect.mirror.TopicFilter;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;

/**
 * Asks the real classes of Kafka what the tests expect of ours, and prints their answers as JSON.
 * Run it in the folder `inputs`; the README beside this file has the command. With a folder as its argument, it
 * answers about every mm2.properties in there instead, in one line for each file.
 */
public class MirrorFacts {
    static final String MIRROR = "org.apache.kafka.connect.mirror.";

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 20), false, StandardCharsets.UTF_8);
        if (args.length > 0)
            for (Path path : files(args[0]))
                out.print(quoted(path.getFileName().toString()) + "\t" + json(mm2File(path), "", 0) + "\n");
        else
            out.print(json(facts(), "", 3) + "\n");
        out.flush();
    }

    static Map<String, Object> facts() throws Exception {
        Map<String, Object> facts = new TreeMap<>();
        facts.put("version", AppInfoParser.getVersion());
        facts.put("java", Runtime.version().feature());
        facts.put("names", names());
        facts.put("accepted", accepted());
        facts.put("properties", properties());
        facts.put("regexes", regexes());
        facts.put("policies", policies());
        facts.put("filters", filters());
        Map<String, Object> mm2 = new TreeMap<>();
        for (Path path : files("mm2"))
            mm2.put(path.getFileName().toString(), mm2File(path));
        facts.put("mm2", mm2);
        return facts;
    }

    // --- the keys that are known ---------------------------------------------------------------------

    static Map<String, Object> names() throws Exception {
        Map<String, Object> found = new TreeMap<>();
        Object config = new MirrorMakerConfig(Map.of("clusters", "A,B"));
        found.put("connectors", new TreeSet<>((Collection<String>) call(config, "allConfigNames")));
        found.put("client", new TreeSet<>(definition("MirrorClientConfig", "CLIENT_CONFIG_DEF").names()));
        found.put("worker", new TreeSet<>(workerDefinition().names()));
        Set<String> roles = new TreeSet<>(ProducerConfig.configNames());
        roles.addAll(ConsumerConfig.configNames());
        roles.addAll(AdminClientConfig.configNames());
        roles.removeIf(name -> name.startsWith("internal."));
        found.put("roles", roles);
        return found;
    }

    static ConfigDef workerDefinition() throws Exception {
        Class<?> crypto = Class.forName("org.apache.kafka.connect.runtime.distributed.Crypto");
        Field field = crypto.getDeclaredField("SYSTEM");
        field.setAccessible(true);
        Object system = field.get(null);
        Method method = DistributedConfig.class.getDeclaredMethod("config", crypto);
        method.setAccessible(true);
        return (ConfigDef) method.invoke(null, system);
    }

    /** The values of values.txt that each key accepts, except for keys that name classes. */
    static List<Object> accepted() throws Exception {
        List<ConfigDef> parts = new ArrayList<>();
        Method own = MirrorMakerConfig.class.getDeclaredMethod("config");
        own.setAccessible(true);
        parts.add((ConfigDef) own.invoke(null));
        parts.add(workerDefinition());
        for (String connector : List.of("Source", "Checkpoint", "Heartbeat"))
            parts.add(definition("Mirror" + connector + "Config", "CONNECTOR_CONFIG_DEF"));
        Map<String, List<String>> values = new TreeMap<>();
        Map<String, TreeSet<String>> keys = new TreeMap<>();
        for (ConfigDef part : parts)
            for (ConfigDef.ConfigKey key : part.configKeys().values())
                if (key.type != ConfigDef.Type.CLASS && !key.name.endsWith(".plugin.version")) {
                    List<String> taken = acceptedBy(key);
                    values.put(taken.toString(), taken);
                    keys.computeIfAbsent(taken.toString(), ignored -> new TreeSet<>()).add(key.name);
                }
        List<Object> found = new ArrayList<>();
        values.forEach((group, taken) -> found.add(new TreeMap<>(Map.of("keys", keys.get(group), "values", taken))));
        return found;
    }

    static List<String> acceptedBy(ConfigDef.ConfigKey key) throws Exception {
        List<String> taken = new ArrayList<>();
        for (String line : lines("values.txt")) {
            String value = line.substring(1, line.length() - 1);
            try {
                Object parsed = ConfigDef.parseType(key.name, value, key.type);
                if (key.validator != null)
                    key.validator.ensureValid(key.name, parsed);
                taken.add(value);
            } catch (RuntimeException refused) {
                continue;
            }
        }
        return taken;
    }

    static ConfigDef definition(String type, String name) throws Exception {
        Field field = Class.forName(MIRROR + type).getDeclaredField(name);
        field.setAccessible(true);
        return (ConfigDef) field.get(null);
    }

    // --- java.util.Properties and java.util.regex ----------------------------------------------------

    static Map<String, Object> properties() throws Exception {
        Map<String, Object> found = new TreeMap<>();
        for (Path path : files("properties")) {
            Properties loaded = new Properties();
            try (Reader reader = Files.newBufferedReader(path, StandardCharsets.UTF_8)) {
                loaded.load(reader);
                found.put(path.getFileName().toString(), new TreeMap<>(Utils.propsToStringMap(loaded)));
            } catch (IllegalArgumentException refused) {
                found.put(path.getFileName().toString(), "refused");
            }
        }
        return found;
    }

    static Map<String, Object> regexes() throws Exception {
        List<String> samples = lines("regex-samples.txt");
        Map<String, Object> found = new TreeMap<>();
        for (String regex : lines("regexes.txt")) {
            try {
                Pattern pattern = Pattern.compile(regex);
                found.put(regex, samples.stream().filter(x -> pattern.matcher(x).matches()).toList());
            } catch (PatternSyntaxException refused) {
                found.put(regex, "refused");
            }
        }
        return found;
    }

    // --- policies and filters ------------------------------------------------------------------------

    static List<Object> policies() throws Exception {
        List<Object> found = new ArrayList<>();
        for (String line : lines("policies.txt")) {
            String[] fields = line.split("\t", -1);
            Map<String, String> given = new TreeMap<>();
            String[] keys = {"replication.policy.class", "replication.policy.separator",
                "replication.policy.internal.topic.separator.enabled", "source.cluster.alias"};
            for (int i = 0; i < keys.length; i++)
                if (!fields[i].equals("-"))
                    given.put(keys[i], fields[i]);
            ReplicationPolicy policy = (ReplicationPolicy) Class.forName(MIRROR + given.get(keys[0]))
                .getConstructor().newInstance();
            ((Configurable) policy).configure(given);
            Map<String, Object> answer = new TreeMap<>();
            answer.put("given", given);
            answer.put("offset_syncs", policy.offsetSyncsTopic("B"));
            answer.put("checkpoints", policy.checkpointsTopic("A"));
            answer.put("heartbeats", policy.heartbeatsTopic());
            Map<String, Object> topics = new TreeMap<>();
            for (String topic : lines("names.txt"))
                topics.put(topic, answers(policy, topic));
            answer.put("topics", topics);
            found.add(answer);
        }
        return found;
    }

    /** remote name, source, upstream, original, internal, heartbeats, checkpoints */
    static List<Object> answers(ReplicationPolicy policy, String topic) {
        List<Object> row = new ArrayList<>();
        row.add(policy.formatRemoteTopic("A", topic));
        row.add(policy.topicSource(topic));
        row.add(policy.upstreamTopic(topic));
        row.add(policy.originalTopic(topic));
        row.add(policy.isInternalTopic(topic));
        row.add(policy.isHeartbeatsTopic(topic));
        row.add(policy.isCheckpointsTopic(topic));
        return row;
    }

    static List<Object> filters() throws Exception {
        List<Object> found = new ArrayList<>();
        for (String line : lines("filters.txt")) {
            String[] fields = line.split("\t", -1);
            Map<String, Object> answer = new TreeMap<>();
            for (String kind : List.of("topics", "groups")) {
                Map<String, String> given = new TreeMap<>();
                String[] keys = {kind, kind + ".exclude", kind + ".blacklist"};
                for (int i = 0; i < keys.length; i++)
                    if (!fields[i].equals("-"))
                        given.put(keys[i], fields[i]);
                answer.put(kind + ".given", given);
                try {
                    List<String> passed = new ArrayList<>();
                    TopicFilter topics = new DefaultTopicFilter();
                    GroupFilter groups = new DefaultGroupFilter();
                    if (kind.equals("topics")) topics.configure(given); else groups.configure(given);
                    for (String name : lines("names.txt"))
                        if (kind.equals("topics") ? topics.shouldReplicateTopic(name) : groups.shouldReplicateGroup(name))
                            passed.add(name);
                    answer.put(kind, passed);
                } catch (RuntimeException refused) {
                    answer.put(kind, "refused: " + refused.getClass().getSimpleName());
                }
            }
            found.add(answer);
        }
        return found;
    }

    // --- whole files ---------------------------------------------------------------------------------

    static final String DISCOVERY = "plugin.discovery";

    /** What MirrorMaker makes of one file, or `refused: ` with the reason. */
    static Object mm2File(Path path) throws Exception {
        try {
            Map<String, String> given = Utils.propsToStringMap(Utils.loadProps(path.toString()));
            boolean ours = given.putIfAbsent(DISCOVERY, "service_load") == null; // to scan all classes takes 4 s
            Map<String, Object> found = resolution(new MirrorMakerConfig(given));
            if (ours)
                for (Object client : ((Map<?, ?>) found.get("clients")).values())
                    if (client instanceof Map)
                        ((Map<?, ?>) client).remove(DISCOVERY);
            return found;
        } catch (RuntimeException refused) {
            return refusal(refused);
        }
    }

    static String refusal(Throwable refused) {
        return "refused: " + refused.getClass().getSimpleName() + ": " + refused.getMessage();
    }

    static Map<String, Object> resolution(MirrorMakerConfig config) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        found.put("clusters", new TreeSet<>(config.clusters()));
        Map<String, Object> clients = new TreeMap<>();
        for (String alias : config.clusters())
            clients.put(alias, client(config, alias));
        found.put("clients", clients);
        Map<String, Object> herders = new TreeMap<>();
        for (SourceAndTarget pair : config.clusterPairs())
            herders.put(pair.toString(), herder(config, pair));
        found.put("herders", herders);
        return found;
    }

    static Object client(MirrorMakerConfig config, String alias) {
        try {
            return new TreeMap<>(config.clientConfig(alias).originalsStrings());
        } catch (RuntimeException refused) {
            return refusal(refused);
        }
    }

    static Map<String, Object> herder(MirrorMakerConfig config, SourceAndTarget pair) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        Map<String, String> worker = config.workerConfig(pair);
        found.put("worker", new TreeMap<>(worker));
        try {
            new DistributedConfig(worker);
        } catch (RuntimeException refused) {
            found.put("worker_starts", refusal(refused));
        }
        Map<String, String> source = config.connectorBaseConfig(pair, MirrorSourceConnector.class);
        Map<String, String> checkpoint = config.connectorBaseConfig(pair, MirrorCheckpointConnector.class);
        Map<String, String> heartbeat = config.connectorBaseConfig(pair, MirrorHeartbeatConnector.class);
        found.put("source", new TreeMap<>(source));
        found.put("checkpoint_differs", difference(source, checkpoint));
        found.put("heartbeat_differs", difference(source, heartbeat));
        try {
            found.put("decisions", decisions(resolved(config, source), resolved(config, checkpoint), resolved(config, heartbeat)));
        } catch (InvocationTargetException refused) {
            found.put("decisions", refusal(refused.getCause()));
        } catch (RuntimeException refused) {
            found.put("decisions", refusal(refused));
        }
        return found;
    }

    /** What the worker makes of a connector's configuration before it starts the connector. */
    static Map<String, String> resolved(MirrorMakerConfig config, Map<String, String> given) throws Exception {
        Method method = MirrorMakerConfig.class.getDeclaredMethod("transform", Map.class);
        method.setAccessible(true);
        return new HashMap<>((Map<String, String>) method.invoke(config, given));
    }

    static Map<String, Object> decisions(Map<String, String> sourceProps, Map<String, String> checkpointProps,
            Map<String, String> heartbeatProps) throws Exception {
        AbstractConfig source = config("MirrorSourceConfig", sourceProps);
        AbstractConfig checkpoint = config("MirrorCheckpointConfig", checkpointProps);
        AbstractConfig heartbeat = config("MirrorHeartbeatConfig", heartbeatProps);
        Map<String, Object> found = new TreeMap<>();
        found.put("enabled", call(source, "enabled"));
        if (!(boolean) call(source, "enabled"))
            return found;
        found.put("tasks.max", source.getInt("tasks.max"));
        found.put("refresh.topics.s", seconds(call(source, "refreshTopicsInterval")));
        found.put("offset.lag.max", call(source, "maxOffsetLag"));
        found.put("offset_syncs", call(source, "offsetSyncsTopic"));
        found.put("checkpoints", call(source, "checkpointsTopic"));
        found.put("emit.checkpoints.s", seconds(call(checkpoint, "emitCheckpointsInterval")));
        found.put("sync.group.offsets.s", seconds(call(checkpoint, "syncGroupOffsetsInterval")));
        found.put("emit.heartbeats.s", seconds(call(heartbeat, "emitHeartbeatsInterval")));
        Method consumer = Class.forName(MIRROR + "MirrorConnectorConfig").getDeclaredMethod("sourceConsumerConfig", String.class);
        consumer.setAccessible(true);
        Map<?, ?> consumerConfig = (Map<?, ?>) consumer.invoke(source, "role");
        found.put("isolation.level", consumerConfig.get("isolation.level"));
        GroupFilter groups = (GroupFilter) call(checkpoint, "groupFilter");
        List<String> carried = new ArrayList<>();
        for (String name : lines("names.txt"))
            if (groups.shouldReplicateGroup(name))
                carried.add(name);
        found.put("groups", carried);
        replicated(source, found);
        return found;
    }

    static void replicated(AbstractConfig source, Map<String, Object> found) throws Exception {
        ReplicationPolicy policy = (ReplicationPolicy) call(source, "replicationPolicy");
        SourceAndTarget pair = new SourceAndTarget(source.getString("source.cluster.alias"),
            source.getString("target.cluster.alias"));
        Constructor<?> constructor;
        Object connector;
        TopicFilter filter = (TopicFilter) call(source, "topicFilter");
        try {
            constructor = MirrorSourceConnector.class.getDeclaredConstructor(SourceAndTarget.class,
                ReplicationPolicy.class, TopicFilter.class, ConfigPropertyFilter.class, boolean.class);
            constructor.setAccessible(true);
            connector = constructor.newInstance(pair, policy, filter, null, call(source, "heartbeatsReplicationEnabled"));
        } catch (NoSuchMethodException older) {
            constructor = MirrorSourceConnector.class.getDeclaredConstructor(SourceAndTarget.class,
                ReplicationPolicy.class, TopicFilter.class, ConfigPropertyFilter.class);
            constructor.setAccessible(true);
            connector = constructor.newInstance(pair, policy, filter, null);
        }
        Method should = MirrorSourceConnector.class.getDeclaredMethod("shouldReplicateTopic", String.class);
        Method remote = MirrorSourceConnector.class.getDeclaredMethod("formatRemoteTopic", String.class);
        should.setAccessible(true);
        remote.setAccessible(true);
        List<String> left = new ArrayList<>();
        for (String topic : lines("names.txt"))
            if (!(boolean) should.invoke(connector, topic))
                left.add(topic);
        found.put("not_replicated", left);
        found.put("orders", remote.invoke(connector, "orders"));
    }

    // --- small things --------------------------------------------------------------------------------

    static AbstractConfig config(String type, Map<String, String> props) throws Exception {
        Constructor<?> constructor = Class.forName(MIRROR + type).getDeclaredConstructor(Map.class);
        constructor.setAccessible(true);
        return (AbstractConfig) constructor.newInstance(props);
    }

    static Object call(Object target, String name) throws Exception {
        for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Method method = type.getDeclaredMethod(name);
                method.setAccessible(true);
                return method.invoke(target);
            } catch (NoSuchMethodException further) {
                continue;
            }
        }
        throw new NoSuchMethodException(name);
    }

    static Object seconds(Object duration) {
        long millis = ((java.time.Duration) duration).toMillis();
        return millis < 0 ? null : millis / 1000;
    }

    static Map<String, String> difference(Map<String, String> base, Map<String, String> other) {
        Map<String, String> found = new TreeMap<>();
        for (Map.Entry<String, String> entry : other.entrySet())
            if (!entry.getValue().equals(base.get(entry.getKey())))
                found.put(entry.getKey(), entry.getValue());
        for (String key : base.keySet())
            if (!other.containsKey(key))
                found.put(key, null);
        return found;
    }

    static List<Path> files(String folder) throws Exception {
        try (Stream<Path> paths = Files.list(Path.of(folder))) {
            return paths.sorted().collect(Collectors.toList());
        }
    }

    static List<String> lines(String file) throws Exception {
        return Files.readAllLines(Path.of(file), StandardCharsets.UTF_8);
    }

    /** Sorted keys; a line of its own for everything down to `open` levels, so that differences can be read. */
    static String json(Object value, String indent, int open) {
        if (value == null || value instanceof Boolean || value instanceof Number)
            return String.valueOf(value);
        String deeper = indent + " ";
        List<String> parts = new ArrayList<>();
        boolean map = value instanceof Map;
        if (map)
            ((Map<?, ?>) value).forEach((k, v) -> parts.add(quoted(k.toString()) + ": " + json(v, deeper, open - 1)));
        else if (value instanceof Collection)
            ((Collection<?>) value).forEach(x -> parts.add(json(x, deeper, open - 1)));
        else
            return quoted(value.toString());
        String body = open > 0 && !parts.isEmpty()
            ? "\n" + deeper + String.join(",\n" + deeper, parts) + "\n" + indent
            : String.join(", ", parts);
        return map ? "{" + body + "}" : "[" + body + "]";
    }

    static String quoted(String text) {
        StringBuilder built = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\')
                built.append('\\').append(c);
            else if (c < 0x20 || c > 0x7e)
                built.append(String.format("\\u%04x", (int) c));
            else
                built.append(c);
        }
        return built.append('"').toString();
    }
}
