import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTopicsResult;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.connect.mirror.MirrorClient;
import org.apache.kafka.connect.mirror.MirrorClientConfig;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;
import org.apache.kafka.connect.mirror.ReplicationPolicy;

/**
 * Prints what the real MirrorClient and RemoteClusterUtils answer, as JSON: one line for each line of standard input.
 *
 * A line of the input has `props`, the client's properties, and `aliases` to ask about. With `topics` the client has
 * these instead of a cluster's. With `group` the offsets of this group are translated from each of `aliases`.
 */
public class MirrorClientFacts {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine())
            out.println(JSON.writeValueAsString(answer(JSON.readValue(line, Map.class))));
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> answer(Map<String, Object> asked) throws Exception {
        Map<String, Object> props = (Map<String, Object>) asked.get("props");
        List<String> aliases = (List<String>) asked.get("aliases");
        List<String> topics = (List<String>) asked.get("topics");
        if (topics != null)
            try (MirrorClient client = unconnected(props, topics)) {
                return ofClient(client, aliases);
            }
        Map<String, Object> found;
        try (MirrorClient client = new MirrorClient(props)) {
            found = ofClient(client, aliases);
        }
        found.put("utils", ofUtils(props, aliases));
        if (asked.get("group") != null)
            found.put("translated", translated(props, (String) asked.get("group"), aliases));
        return found;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> ofClient(MirrorClient client, List<String> aliases) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        Method listTopics = MirrorClient.class.getDeclaredMethod("listTopics");
        listTopics.setAccessible(true);
        found.put("topics", new TreeSet<>((Set<String>) listTopics.invoke(client)));
        found.put("upstream", new TreeSet<>(client.upstreamClusters()));
        found.put("heartbeats", new TreeSet<>(client.heartbeatTopics()));
        found.put("checkpoints", new TreeSet<>(client.checkpointTopics()));
        found.put("remote", new TreeSet<>(client.remoteTopics()));
        Map<String, Object> hops = new TreeMap<>();
        Map<String, Object> bySource = new TreeMap<>();
        Map<String, Object> read = new TreeMap<>();
        for (String alias : aliases) {
            hops.put(alias, client.replicationHops(alias));
            bySource.put(alias, new TreeSet<>(client.remoteTopics(alias)));
            read.put(alias, client.replicationPolicy().checkpointsTopic(alias));
        }
        found.put("hops", hops);
        found.put("remote_by_source", bySource);
        found.put("checkpoints_read", read);
        return found;
    }

    static Map<String, Object> ofUtils(Map<String, Object> props, List<String> aliases) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        found.put("upstream", new TreeSet<>(RemoteClusterUtils.upstreamClusters(props)));
        found.put("heartbeats", new TreeSet<>(RemoteClusterUtils.heartbeatTopics(props)));
        found.put("checkpoints", new TreeSet<>(RemoteClusterUtils.checkpointTopics(props)));
        Map<String, Object> hops = new TreeMap<>();
        for (String alias : aliases)
            hops.put(alias, RemoteClusterUtils.replicationHops(props, alias));
        found.put("hops", hops);
        return found;
    }

    /** The partitions and offsets by source. */
    static Map<String, Object> translated(Map<String, Object> props, String group, List<String> aliases) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        for (String alias : aliases) {
            Map<String, Object> offsets = new TreeMap<>();
            RemoteClusterUtils.translateOffsets(props, alias, group, Duration.ofSeconds(30))
                .forEach((partition, offset) -> offsets.put(partition.toString(), offset.offset()));
            found.put(alias, offsets);
        }
        return found;
    }

    /** A client with the policy of its configuration, and with an admin client that knows only how to list these topics. */
    static MirrorClient unconnected(Map<String, Object> props, List<String> topics) throws Exception {
        Map<String, TopicListing> listings = new HashMap<>();
        for (String topic : topics)
            listings.put(topic, new TopicListing(topic, Uuid.randomUuid(), false));
        Constructor<ListTopicsResult> result = ListTopicsResult.class.getDeclaredConstructor(KafkaFuture.class);
        result.setAccessible(true);
        ListTopicsResult listed = result.newInstance(KafkaFuture.completedFuture(listings));
        Admin admin = (Admin) Proxy.newProxyInstance(Admin.class.getClassLoader(), new Class<?>[] {Admin.class},
            (proxy, method, arguments) -> {
                switch (method.getName()) {
                    case "listTopics":
                        return listed;
                    case "close":
                        return null;
                    default:
                        throw new UnsupportedOperationException(method.getName());
                }
            });
        Constructor<MirrorClient> client = MirrorClient.class.getDeclaredConstructor(Admin.class, ReplicationPolicy.class, Map.class);
        client.setAccessible(true);
        Map<String, Object> complete = new HashMap<>(props);
        complete.putIfAbsent("bootstrap.servers", "127.0.0.1:1");
        Constructor<MirrorClientConfig> config = MirrorClientConfig.class.getDeclaredConstructor(Map.class);
        config.setAccessible(true);
        return client.newInstance(admin, config.newInstance(complete).replicationPolicy(), Map.of());
    }
}
