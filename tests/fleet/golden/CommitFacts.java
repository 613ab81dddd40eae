import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.generated.*;

/**
 * Writes keys and values of `__consumer_offsets` with Kafka's own classes, in every version that they know, and
 * prints them in hexadecimal as JSON: commits-classes.json. From this folder, with the jars that the local stack
 * keeps in its cache (deploy/local/jars):
 *
 *   java -cp "$HOME/.cache/mirrorwatch/kafka-4.3.0/*" CommitFacts.java > commits-classes.json
 */
public class CommitFacts {
    static final String GROUP = "g-\u00f6";
    static final String TOPIC = "orders";
    static final Uuid TOPIC_ID = new Uuid(0x0123456789abcdefL, 0x7edcba9876543210L);
    static final List<String> lines = new ArrayList<>();

    static void put(String what, byte[] bytes) {
        lines.add("  \"" + what + "\": \"" + HexFormat.of().formatHex(bytes) + "\"");
    }

    static byte[] value(int version, Message message) {
        ByteBuffer bytes = MessageUtil.toVersionPrefixedByteBuffer((short) version, message);
        byte[] copy = new byte[bytes.remaining()];
        bytes.get(copy);
        return copy;
    }

    static void key(String what, ApiMessage key) {
        put("key " + what, new GroupCoordinatorRecordSerde().serializeKey(CoordinatorRecord.tombstone(key)));
    }

    public static void main(String[] args) {
        keys();
        for (int length : new int[] {0, 126, 127, 128, 16384}) {
            commit(length);
        }
        for (int version = 0; version <= 4; version++) {
            put("group " + version, value(version, group(version)));
        }
        members();
        System.out.println("{\n" + String.join(",\n", lines) + "\n}");
    }

    static void keys() {
        key("0", new LegacyOffsetCommitKey().setGroup(GROUP).setTopic(TOPIC).setPartition(7));
        key("1", new OffsetCommitKey().setGroup(GROUP).setTopic(TOPIC).setPartition(7));
        key("2", new GroupMetadataKey().setGroup(GROUP));
        key("3", new ConsumerGroupMetadataKey().setGroupId(GROUP));
        key("4", new ConsumerGroupPartitionMetadataKey().setGroupId(GROUP));
        key("5", new ConsumerGroupMemberMetadataKey().setGroupId(GROUP).setMemberId("m"));
        key("6", new ConsumerGroupTargetAssignmentMetadataKey().setGroupId(GROUP));
        key("7", new ConsumerGroupTargetAssignmentMemberKey().setGroupId(GROUP).setMemberId("m"));
        key("8", new ConsumerGroupCurrentMemberAssignmentKey().setGroupId(GROUP).setMemberId("m"));
        key("10", new ShareGroupMemberMetadataKey().setGroupId(GROUP).setMemberId("m"));
        key("11", new ShareGroupMetadataKey().setGroupId(GROUP));
        key("12", new ShareGroupTargetAssignmentMetadataKey().setGroupId(GROUP));
        key("13", new ShareGroupTargetAssignmentMemberKey().setGroupId(GROUP).setMemberId("m"));
        key("14", new ShareGroupCurrentMemberAssignmentKey().setGroupId(GROUP).setMemberId("m"));
        key("15", new ShareGroupStatePartitionMetadataKey().setGroupId(GROUP));
        key("16", new ConsumerGroupRegularExpressionKey().setGroupId(GROUP).setRegularExpression("m"));
        key("17", new StreamsGroupMetadataKey().setGroupId(GROUP));
        key("19", new StreamsGroupMemberMetadataKey().setGroupId(GROUP).setMemberId("m"));
        key("20", new StreamsGroupTargetAssignmentMetadataKey().setGroupId(GROUP));
        key("21", new StreamsGroupTargetAssignmentMemberKey().setGroupId(GROUP).setMemberId("m"));
        key("22", new StreamsGroupCurrentMemberAssignmentKey().setGroupId(GROUP).setMemberId("m"));
        key("23", new StreamsGroupTopologyKey().setGroupId(GROUP));
    }

    static void commit(int length) {
        for (int version = 0; version <= 4; version++) {
            if (length > 128 && version != 4) {
                continue;
            }
            OffsetCommitValue message = new OffsetCommitValue()
                .setOffset(0x0102030405060708L)
                .setMetadata("x".repeat(length))
                .setCommitTimestamp(1_700_000_000_123L);
            if (version == 1) {
                message.setExpireTimestamp(1_700_000_600_123L);
            }
            if (version >= 3) {
                message.setLeaderEpoch(5);
            }
            if (version >= 4) {
                message.setTopicId(TOPIC_ID);
            }
            put("commit " + version + " " + length, value(version, message));
        }
    }

    static GroupMetadataValue group(int version) {
        List<GroupMetadataValue.MemberMetadata> members = new ArrayList<>();
        for (int number = 0; number < 2; number++) {
            ConsumerPartitionAssignor.Assignment assignment = new ConsumerPartitionAssignor.Assignment(
                List.of(new TopicPartition(TOPIC, number), new TopicPartition(TOPIC, number + 2)));
            ConsumerPartitionAssignor.Subscription subscription = new ConsumerPartitionAssignor.Subscription(
                List.of(TOPIC, "\u00fc"), ByteBuffer.wrap("own".getBytes(StandardCharsets.UTF_8)));
            GroupMetadataValue.MemberMetadata member = new GroupMetadataValue.MemberMetadata()
                .setMemberId("member-" + number)
                .setClientId("client")
                .setClientHost("/10.0.0." + number)
                .setSessionTimeout(45_000)
                .setSubscription(copy(ConsumerProtocol.serializeSubscription(subscription)))
                .setAssignment(copy(ConsumerProtocol.serializeAssignment(assignment)));
            if (version >= 1) {
                member.setRebalanceTimeout(300_000);
            }
            if (version >= 3) {
                member.setGroupInstanceId(number == 0 ? null : "seat");
            }
            members.add(member);
        }
        GroupMetadataValue message = new GroupMetadataValue()
            .setProtocolType("consumer")
            .setGeneration(3)
            .setProtocol("range")
            .setLeader("member-0")
            .setMembers(members);
        return version >= 2 ? message.setCurrentStateTimestamp(1_700_000_000_123L) : message;
    }

    static void members() {
        put("member", value(0, new ConsumerGroupMemberMetadataValue()
            .setInstanceId("seat")
            .setRackId(null)
            .setClientId("client")
            .setClientHost("/10.0.0.1")
            .setSubscribedTopicNames(List.of(TOPIC, "\u00fc"))
            .setSubscribedTopicRegex("ord.*")
            .setRebalanceTimeoutMs(300_000)
            .setServerAssignor(null)
            .setClassicMemberMetadata(new ConsumerGroupMemberMetadataValue.ClassicMemberMetadata()
                .setSessionTimeoutMs(45_000)
                .setSupportedProtocols(List.of(new ConsumerGroupMemberMetadataValue.ClassicProtocol()
                    .setName("range").setMetadata(new byte[] {1, 2}))))));
        put("assignment", value(0, new ConsumerGroupCurrentMemberAssignmentValue()
            .setMemberEpoch(4)
            .setPreviousMemberEpoch(3)
            .setState((byte) 1)
            .setAssignedPartitions(List.of(partitions(0, 2).setAssignmentEpochs(List.of(4, 4))))
            .setPartitionsPendingRevocation(List.of(partitions(1)))));
    }

    static ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions partitions(Integer... numbers) {
        return new ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions()
            .setTopicId(TOPIC_ID).setPartitions(List.of(numbers));
    }

    static byte[] copy(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }
}
