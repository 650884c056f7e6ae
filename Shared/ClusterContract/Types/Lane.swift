/// A part of the bus: streams of one lane are on the same master of a Redis Cluster, also when slots move.
///
/// Lane n is in the n-th 64th of the 16,384 hash slots. So masters with equal ranges of slots have equal numbers of lanes.
package struct Lane: Hashable, Sendable {
    package let index: Int

    package static let count = 64

    /// Neighbouring partitions share a lane.
    package init(of partition: Partition) { self.index = partition.index * Self.count / Partition.count }

    /// The text between braces in names; it alone decides about their slot (Redis Cluster specification, "Hash tags").
    package var tag: String { Self.tags[self.index] }

    /// The first of a, b, … z, aa, ab, … whose slot is in the lane's 64th.
    private static let tags = [
        "bh", "bd", "by", "bq", "aa", "ai", "ap", "ax", "ea", "ds", "dj", "db", "b", "j", "s", "fq",
        "bi", "ba", "bx", "bp", "ad", "ah", "aq", "ay", "dz", "dr", "dk", "dc", "c", "k", "r", "z",
        "bj", "bb", "ca", "bs", "ac", "ak", "ar", "az", "dy", "dq", "dh", "dd", "d", "h", "q", "y",
        "bk", "bc", "bz", "br", "ab", "aj", "as", "nz", "dx", "dp", "di", "da", "a", "i", "p", "x",
    ]
}
