import ClusterContract
import Contract
import Store
import Synchronization

/// Stores new identities. Logins that come while a transaction is under way share the next one.
///
/// Each transaction costs a flush of Postgres' log and several wake-ups of threads, whatever it holds. A login that is
/// alone waits for nobody. One that is in the way of the others makes all of them go on alone.
final class FirstLogins: Sendable {
    enum Stored: Equatable, Sendable {
        case added(expiresAt: Timestamp, rateClass: RateClassName?)
        /// The id or one of the keys is taken.
        case taken
        /// The keys may be known nevertheless; if not, nobody may come in with what they brought.
        case refused(RefusalReason)
        /// Its client has given it up.
        case tooLate
    }

    private typealias Outcome = Result<Stored, StoreError>

    /// What a login that waited does next.
    private enum Next: Sendable {
        case end(Outcome)
        /// It runs the next transaction, in the place of the one that ended.
        case lead
    }

    private struct Waiter: Sendable {
        let login: FirstLogin
        let continuation: CheckedContinuation<Next, Never>
    }

    private struct State {
        var transactions = 0
        /// At most as many as there are Jobs under way (`AuthLimits.jobsInFlightMax`).
        var waiting: [Waiter] = []
    }

    private let pool: PostgresPool
    private let state = Mutex(State())

    init(_ pool: PostgresPool) { self.pool = pool }

    /// Logins that wait for the next transaction.
    var waiting: Int { self.state.withLock { $0.waiting.count } }

    /// - Throws: `.unique` if another transaction has registered one of the keys meanwhile.
    func store(_ login: FirstLogin) async throws(StoreError) -> Stored {
        let mayLead = self.state.withLock { state in
            guard state.transactions < AuthLimits.firstLoginTransactionsMax else { return false }
            state.transactions += 1
            return true
        }
        if !mayLead, case .end(let outcome) = await self.wait(login) { return try outcome.get() }
        let others = self.state.withLock { state in
            let others = state.waiting.prefix(AuthLimits.firstLoginsMax - 1)
            state.waiting.removeFirst(others.count)
            return Array(others)
        }
        let outcomes = await self.run([login] + others.map(\.login))
        self.handOver()
        for (waiter, outcome) in zip(others, outcomes.dropFirst()) {
            waiter.continuation.resume(returning: .end(outcome))
        }
        return try outcomes[0].get()
    }

    private func wait(_ login: FirstLogin) async -> Next {
        await withCheckedContinuation { continuation in
            let mayLead = self.state.withLock { state in
                // A transaction has ended meanwhile, and nobody else would begin the next.
                guard state.transactions == AuthLimits.firstLoginTransactionsMax else {
                    state.transactions += 1
                    return true
                }
                state.waiting.append(Waiter(login: login, continuation: continuation))
                return false
            }
            if mayLead { continuation.resume(returning: .lead) }
        }
    }

    /// The right to run a transaction goes to whoever has waited longest.
    private func handOver() {
        let next = self.state.withLock { state -> Waiter? in
            guard !state.waiting.isEmpty else {
                state.transactions -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.continuation.resume(returning: .lead)
    }

    /// - Returns: an outcome for each, in their order.
    private func run(_ logins: [FirstLogin]) async -> [Outcome] {
        // This process may have stood still since it took the Jobs.
        let now = ContinuousClock.now
        var pipeline: Pipeline = [RegistrationDoor.pass]
        let tickets = logins.map { $0.deadline > now ? $0.add(to: &pipeline) : nil }
        guard tickets.contains(where: { $0 != nil }) else { return logins.map { _ in .success(.tooLate) } }
        do {
            let answers = try await self.pool.pipeline(pipeline)
            return tickets.map { ticket in
                guard let ticket else { return .success(.tooLate) }
                return Outcome { () throws(StoreError) in
                    Stored(try answers[ticket])
                }
            }
        } catch let error where logins.count > 1 && error.isOfOne {
            var outcomes: [Outcome] = []
            for login in logins { outcomes += await self.run([login]) }
            return outcomes
        } catch {
            return logins.map { _ in .failure(error) }
        }
    }
}

extension FirstLogins.Stored {
    init(_ outcome: FirstLogin.Outcome) {
        self =
            switch outcome {
            case .added(let expiresAt, let rateClass): .added(expiresAt: expiresAt, rateClass: rateClass)
            case .taken: .taken
            case .refused(let reason): .refused(reason)
            }
    }
}

extension StoreError {
    /// Whether one statement of a transaction may have been refused because of what it is about. Nothing was written.
    fileprivate var isOfOne: Bool {
        switch self {
        case .unique, .conflict, .refused: true
        case .unavailable, .outcomeUnknown, .undecodable: false
        }
    }
}
