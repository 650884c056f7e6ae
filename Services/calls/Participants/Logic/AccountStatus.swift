package import ClusterContract

/// Whether a principal may act, as auth's tables have it.
package struct AccountStatus: Equatable, Sendable {
    package var epoch: Epoch
    package var isBanned: Bool

    package init(epoch: Epoch, isBanned: Bool) {
        self.epoch = epoch
        self.isBanned = isBanned
    }
}
