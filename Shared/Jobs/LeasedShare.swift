package import ClusterContract
import Contract

/// A part of some work. It has one stream, and one owner at a time.
package protocol LeasedShare: Hashable, Comparable, Sendable {
    static var all: [Self] { get }
    /// Its place in `all`.
    var index: Int { get }
    init?(_ index: Int)
    var stream: String { get }
}

package enum LeaseError: Error {
    /// Processes of a release that divides the same work otherwise are at work. This one waits until they are gone.
    case earlierReleaseIsAtWork
}

extension Partition: LeasedShare {
    package var stream: String { Keyspace.mailbox(self).name }
}

extension CallShare: LeasedShare {
    package var stream: String { Keyspace.calls(self).name }
}

extension LiveShare: LeasedShare {
    package var stream: String { Keyspace.live(self).name }
}

extension RoomShare: LeasedShare {
    package var stream: String { Keyspace.rooms(self).name }
}
