import Contract

/// The host of the features of live conversations.
package protocol LiveHost: ServerHost {
    var streams: OwnStreams { get }
    var heard: HeardStreams { get }
    nonisolated var liveProfile: LiveProfile { get }
    var profileKeeper: ProfileKeeper { get }
}

extension LiveHost {
    func publish(_ news: LiveNews, of id: ConversationID) { self.publish(.live(id, news)) }
}

extension LiveStore {
    func kept<T>(_ body: (LiveStore) throws -> T) throws(LiveError) -> T {
        do { return try body(self) } catch { throw .store(error as? ClientStoreError ?? .failed("\(error)")) }
    }
}
