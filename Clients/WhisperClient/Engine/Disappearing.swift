import Contract

/// Messages that delete themselves when their time is over, and deleted texts that leave the files.
///
/// The clock is the server's, as far as it is known here. A message that was due while no client lived is deleted when one begins to live.
package final class Disappearing {
    private let store: ClientStore
    private var time = SteadyTime()
    /// Without it our clock may be wrong, and what nobody has read is spared.
    private var knowsServerTime = false
    /// The time of the server that is kept for the next life.
    private var kept: Timestamp?
    private var wait: (task: Task<Void, Never>, until: ContinuousClock.Instant)?
    private var isSweeping = false
    private var isStopped = false
    /// Files are not rewritten before. It grows with the time that it took last.
    private var nextErasure = ContinuousClock.now

    /// Deletes what was due while no client lived: nobody reads it any more.
    init(store: ClientStore, at now: Timestamp) throws(ClientStoreError) {
        self.store = store
        self.kept = try store.settings.serverTime()
        if let kept { self.time.learned(kept, at: .now) }
        let now = self.time.now(now, at: .now)
        try store.disappearing.beginClocks(at: now)
        while try !store.disappearing.sweep(at: now, sparingUnread: true).isEmpty {}
    }

    // MARK: Timers

    /// Sets how long new messages of a chat are kept, here and, when the server is back, there.
    /// - Parameter seconds: 0, or one of `ClientLimits.timerSeconds`.
    /// - Throws: nothing was stored then. `.refused(.notAllowed)`: of a group only the owner and admins set it.
    package func set(
        _ seconds: Int64, in place: Conversation, _ host: isolated some MailHost
    ) throws(ChangeError) -> ChatState {
        precondition(seconds == 0 || ChatTimer.isTime(seconds))
        let reader: Reader
        do { reader = try self.store.reader(in: place, as: host.id) } catch { throw .send(error) }
        let id = UUIDText.random()
        let isNew: Bool
        let state: ChatState
        do {
            isNew = try self.store.disappearing.queue(seconds, id: id, in: place, at: host.serverNow).get()
            state = try self.store.chatState(of: place)
            if isNew { try host.outbox.queued(id, in: place, host) }
        } catch let error as ClientStoreError {
            throw .send(.store(error))
        } catch let error as ChangeRefusal {
            throw .refused(error)
        } catch {
            throw .refused(.notFound)
        }
        if isNew {
            if reader.isStranger { host.backup.wake() }
            if let ownID = host.id { host.publish(.passing(.timer(place, by: ownID, seconds: seconds))) }
            host.publish(.passing(.chat(state)))
        }
        return state
    }

    // MARK: Expiry

    /// To be called when a client begins to live, and after anything that may have brought an expiry nearer, or deleted something.
    package func look(_ host: isolated some MailHost) {
        guard !self.isSweeping, !self.isStopped else { return }
        do {
            let now = self.now(host)
            try self.store.disappearing.beginClocks(at: now)
            let next = try self.store.disappearing.nextExpiry(sparingUnread: !self.knowsServerTime)
            let expiry = next.map { max($0 - now, .zero) }
            let erasure = try self.store.erasure.owed().map { _ in
                max(ClientLimits.erasureAfter, self.nextErasure - .now)
            }
            self.wake(after: [expiry, erasure].compactMap { $0 }.min(), host)
        } catch {
            self.failed(error, host)
        }
    }

    /// Another client takes over, or the store closes. A sweep under way ends with its step.
    package func stop() {
        self.wait?.task.cancel()
        self.wait = nil
        self.isStopped = true
    }

    /// Stops, and takes deleted texts out of the files at once, if any are owed.
    package func finish(_ host: isolated some MailHost) async {
        self.stop()
        // Another program may find what a full disk leaves.
        try? await self.erase(host) { false }
    }

    func learned(_ time: Timestamp, _ host: isolated some MailHost) {
        let before = self.now(host)
        self.time.learned(time, at: .now)
        let hasMoved = before < time - ClientLimits.clockStepMin || time < before - ClientLimits.clockStepMin
        if !self.knowsServerTime || hasMoved {
            self.knowsServerTime = true
            self.look(host)
        }
        // One that was wrong is corrected, too: it would take messages at each start.
        let margin = ClientLimits.expiryLookedAtWithin
        guard self.kept.map({ $0 + margin < time || time < $0 - margin }) ?? true else { return }
        self.kept = time
        host.withStore { try self.store.settings.set(serverTime: time) }
    }

    private func now(_ host: isolated some MailHost) -> Timestamp {
        self.time.now(host.serverNow, at: .now)
    }

    private func wake(after pause: Duration?, _ host: isolated some MailHost) {
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
    private func sweep(_ host: isolated some MailHost) async {
        guard !self.isSweeping, !self.isStopped else { return }
        self.isSweeping = true
        self.wait?.task.cancel()
        self.wait = nil
        do {
            while !self.isStopped {
                let expired = try self.store.disappearing.sweep(
                    at: self.now(host), sparingUnread: !self.knowsServerTime)
                guard !expired.isEmpty else { break }
                for (place, messages) in expired {
                    host.publish(.passing(.expired(place, messages)))
                    await host.transfers.end(of: messages.map(\.number), host)
                }
            }
            if self.nextErasure <= .now { try await self.erase(host) { self.isStopped } }
            self.isSweeping = false
            self.look(host)
        } catch {
            self.isSweeping = false
            self.failed(error, host)
        }
    }

    /// A full disk is tried again, but not at once.
    private func failed(_ error: ClientStoreError, _ host: isolated some MailHost) {
        guard !self.isStopped else { return }
        host.storeFailed(error)
        self.wait?.task.cancel()
        self.wait = nil
        self.wake(after: ClientLimits.erasureAfterFailure, host)
    }

    /// A deletion beside it stays owed.
    private func erase(
        _ host: isolated some MailHost, until isEnded: () -> Bool
    ) async throws(ClientStoreError) {
        guard let owed = try self.store.erasure.owed() else { return }
        let start = ContinuousClock.now
        var isFirst = true
        while try !self.store.erasure.mergeIndex(isFirst: isFirst) {
            isFirst = false
            await Task.yield()
            guard !isEnded() else { return }
        }
        try self.store.erasure.rewriteFiles(owed: owed)
        // Sealed files whose messages are gone go, too.
        await host.transfers.end(of: [], host)
        self.nextErasure = .now + (.now - start) * ClientLimits.erasurePauseFactor
    }
}
