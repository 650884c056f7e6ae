package import Contract

/// The host of `Disappearing`.
package protocol DisappearingHost: ServerHost {
    var disappearing: Disappearing { get }

    /// - Throws: why we may not write to a chat.
    func check(mayWriteTo place: Conversation) throws(SendError)
    /// A change of a chat is kept, and may go.
    func queued(change id: UUIDText, in place: Conversation)
    /// Ends transfers of messages that are gone, and removes their sealed files.
    func endTransfers(of numbers: [Int64]) async
}

/// Messages that delete themselves when their time is over, and deleted texts that leave the files.
///
/// The clock is the server's, as far as it is known here. What was due while no client lived is deleted when one begins to live.
package final class Disappearing {
    private let store: ClientStore
    private var time = SteadyTime()
    private var wait: (task: Task<Void, Never>, until: ContinuousClock.Instant)?
    private var isSweeping = false
    private var isStopped = false

    init(store: ClientStore) { self.store = store }

    // MARK: Timers

    /// Sets how long new messages of a chat are kept, here and, when the server is back, there.
    /// - Parameter seconds: 0, or one of `ClientLimits.timerSeconds`.
    /// - Throws: nothing was stored then. `.refused(.notAllowed)`: of a group only the owner and admins set it.
    package func set(
        _ seconds: Int64, in place: Conversation, _ host: isolated some DisappearingHost
    ) throws(ChangeError) -> ChatState {
        precondition(seconds == 0 || ChatTimer.isTime(seconds))
        do { try host.check(mayWriteTo: place) } catch { throw .send(error) }
        let id = UUIDText.random()
        let isNew: Bool
        let state: ChatState
        do {
            isNew = try self.store.disappearing.queue(seconds, id: id, in: place, at: host.serverNow).get()
            state = try self.store.chatState(of: place)
        } catch let error as ClientStoreError {
            throw .send(.store(error))
        } catch let error as ChangeRefusal {
            throw .refused(error)
        } catch {
            throw .refused(.notFound)
        }
        if isNew {
            host.queued(change: id, in: place)
            if let ownID = host.id { host.publish(.passing(.timer(place, by: ownID, seconds: seconds))) }
            host.publish(.passing(.chat(state)))
        }
        return state
    }

    // MARK: Expiry

    /// To be called when a client begins to live, and after anything that may have brought an expiry nearer, or deleted something.
    package func look(_ host: isolated some DisappearingHost) {
        guard !self.isSweeping, !self.isStopped else { return }
        do {
            let now = self.now(host)
            try self.store.disappearing.beginClocks(at: now)
            let next = try self.store.disappearing.nextExpiry().map { max($0 - now, .zero) }
            let erases = try self.store.erasure.isOwed() ? ClientLimits.erasureAfter : nil
            self.wake(after: [next, erases].compactMap { $0 }.min(), host)
        } catch {
            host.storeFailed(error)
        }
    }

    /// Another client takes over, or the store closes.
    package func stop() {
        self.wait?.task.cancel()
        self.wait = nil
        self.isStopped = true
    }

    func learned(_ time: Timestamp) { self.time.learned(time, at: .now) }

    private func now(_ host: isolated some DisappearingHost) -> Timestamp {
        self.time.now(host.serverNow, at: .now)
    }

    private func wake(after pause: Duration?, _ host: isolated some DisappearingHost) {
        guard let pause else {
            self.wait?.task.cancel()
            return self.wait = nil
        }
        let instant = ContinuousClock.now + min(pause, ClientLimits.expiryLookedAtWithin)
        if let wait, wait.until <= instant { return }
        self.wait?.task.cancel()
        let task = Task { [weak host] in
            guard (try? await Task.sleep(until: instant, clock: .continuous)) != nil else { return }
            await host?.with { await $0.disappearing.sweep($0) }
        }
        self.wait = (task, instant)
    }

    /// Deletes what is due, tells of it, and then takes deleted texts out of the files. Others have their turn between two steps.
    private func sweep(_ host: isolated some DisappearingHost) async {
        guard !self.isSweeping, !self.isStopped else { return }
        self.isSweeping = true
        self.wait = nil
        do {
            while true {
                let expired = try self.store.disappearing.sweep(at: self.now(host))
                guard !expired.isEmpty else { break }
                for (place, numbers) in expired {
                    host.publish(.passing(.expired(place, numbers)))
                    await host.endTransfers(of: numbers)
                }
                await Task.yield()
            }
            try await self.erase()
        } catch {
            host.storeFailed(error)
        }
        self.isSweeping = false
        self.look(host)
    }

    private func erase(isolation: isolated (any Actor)? = #isolation) async throws(ClientStoreError) {
        guard try self.store.erasure.isOwed() else { return }
        var isFirst = true
        while try !self.store.erasure.mergeIndex(isFirst: isFirst) {
            isFirst = false
            await Task.yield()
        }
        _ = try self.store.erasure.emptyLog()
    }
}
