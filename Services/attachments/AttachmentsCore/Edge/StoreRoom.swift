import Contract
package import Store

/// How much room the store has for further uploads (contract §13b): what was free a moment ago, less what may still come to it.
package actor StoreRoom {
    private let store: any ObjectStore
    private let attachments: AttachmentTable
    private let configuration: AttachmentsConfiguration
    private let clock: ServiceClock

    /// When the last measurement was begun; nil before the first has ended.
    private var measuredAt: ContinuousClock.Instant?
    /// Free bytes above the floor for uploads that nobody has been let in with yet. Nil: the store's room is unknown.
    private var left: Int64?
    /// Bytes that uploads have ever taken.
    private var taken: Int64 = 0

    package init(
        _ store: any ObjectStore, attachments: AttachmentTable, configuration: AttachmentsConfiguration,
        clock: ServiceClock
    ) {
        self.store = store
        self.attachments = attachments
        self.configuration = configuration
        self.clock = clock
    }

    /// Takes room for one upload.
    /// - Returns: whether there was enough. Nothing is taken otherwise.
    package func take(_ bytes: Int64) async throws(StoreError) -> Bool {
        if self.measuredAt.map({ .now - $0 >= AttachmentsLimits.spaceAge }) ?? true {
            let (before, takenBefore) = (self.measuredAt, self.taken)
            // Others go on by the last measurement meanwhile, if there is one.
            if before != nil { self.measuredAt = .now }
            do throws(StoreError) {
                let measured = try await self.measured()
                // The table may hold uploads taken meanwhile already. They count twice until the next measurement.
                self.left = measured.map { $0 - (self.taken - takenBefore) }
                self.measuredAt = .now
            } catch {
                self.measuredAt = before
                throw error
            }
        }
        guard let left else { return true }
        guard left >= bytes else { return false }
        self.left = left - bytes
        self.taken += bytes
        return true
    }

    /// Gives back what an upload has taken that will not come. A measurement made since has not counted it.
    package func giveBack(_ bytes: Int64, takenAt: ContinuousClock.Instant) {
        guard let measuredAt, measuredAt <= takenAt else { return }
        self.left = self.left.map { $0 + bytes }
    }

    private func measured() async throws(StoreError) -> Int64? {
        // In this order: an upload that ends in between counts twice, and never not at all.
        let pending = try await self.attachments.pendingBytes(at: self.clock.store)
        var room: StoreSpace?
        do throws(ObjectStoreError) {
            room = try await self.store.space()
        } catch {
            // A store that does not answer takes no upload either.
            throw .unavailable
        }
        if room == nil, let total = self.configuration.storeBytes {
            room = StoreSpace(free: total - (try await self.attachments.storedBytes()), total: total)
        }
        return room.map { room in
            room.free - pending
                - min(room.total / 100 * self.configuration.floorPercent, self.configuration.floorBytes)
        }
    }
}
