import Contract
import TerminalText
import WhisperClient

/// Runs a client while `body` talks to it, and closes it afterwards.
func running<T: Sendable>(_ client: WhisperClient, _ body: () async throws -> T) async throws -> T {
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { _ = await client.run() }
        do {
            let value = try await body()
            await client.close()
            return value
        } catch {
            await client.close()
            throw error
        }
    }
}

/// The first event that fits, or `nil` when the time is up or the client has stopped.
func first<T: Sendable>(
    in events: AsyncStream<ClientEvent>, within timeout: Duration, _ match: @escaping @Sendable (ClientEvent) -> T?
) async -> T? {
    await withTaskGroup(of: T?.self) { group in
        group.addTask {
            for await event in events { if let value = match(event) { return value } }
            return nil
        }
        group.addTask {
            try? await Task.sleep(for: timeout)
            return nil
        }
        let value = await group.next() ?? nil
        group.cancelAll()
        return value
    }
}

/// Waits for a session.
/// - Parameters:
///   - events: of a client or a core, beginning with how its connection is.
///   - isEnough: whether the caller goes on when the connection has ended for this reason.
/// - Throws: a `Problem` that says why there is none.
func waitUntilOnline(
    _ events: AsyncStream<ClientEvent>, within timeout: Duration,
    orStopped isEnough: (StopReason) -> Bool = { _ in false }
) async throws {
    enum End: Sendable { case online, away(String), stopped(StopReason) }
    let end = await first(in: events, within: timeout) { event -> End? in
        switch event {
        case .connection(.online): .online
        case .connection(.away(let why, _)): .away(why)
        case .connection(.stopped(let reason)): .stopped(reason)
        default: nil
        }
    }
    switch end {
    case .online: return
    case .away(let why): throw Problem("Can't reach the server: \(why).")
    case .stopped(let reason): guard isEnough(reason) else { throw Problem(describe(reason)) }
    case nil: throw Problem("The server does not answer.")
    }
}

func describe(_ reason: StopReason) -> String {
    switch reason {
    case .closed: "Closed."
    case .replaced: "This identity was opened on another device, so it was signed out here."
    case .banned(let until): describe(Ban(until: until))
    case .loginRefused: "The server refuses this identity."
    case .refused(let reason): reason.sentence
    case .foreignChallenge:
        "DANGER: the server asked for a signature that is not for signing in. Nothing was signed; do not trust this server."
    case .foreignIdentity:
        "DANGER: the server calls this identity by an id that is not its own. Nothing was sent; do not trust this server."
    case .storeFailed:
        "The local store cannot be written (is the disk full?). Nothing is confirmed to anybody until it can."
    }
}

func describe(_ ban: Ban) -> String {
    let until = ban.until.map { "until \(day($0)) \(timeOfDay($0))" } ?? "without an end that is known"
    return
        "This identity is banned from the server, \(until). What waits to be sent is kept apart: `whisper outbox` shows it."
}

func describe(_ alarm: Alarm, name: (WhisperID) -> String) -> String {
    switch alarm {
    case .suspiciousMail(let suspicion, let count):
        describe(suspicion.reason, count: count, name: name(suspicion.sender))
    case .foreignKeys(let id):
        "WARNING: the server gave out keys for \(name(id)) that are not theirs. They were refused."
    case .changedKeys(let id): "WARNING: the server gave out changed keys for \(name(id)). The known ones are kept."
    }
}

private func describe(_ reason: Suspicion.Reason, count: Int, name: String) -> String {
    let what = count == 1 ? "a message" : "\(count) messages"
    let shown = count == 1 ? "It is not shown." : "They are not shown."
    return switch reason {
    case .unverified: "WARNING: \(what) in the name of \(name) cannot be verified. \(shown)"
    case .stale:
        "WARNING: \(what) of \(name) came that the server should have dropped long ago. \(shown) Is the clock here right?"
    }
}

/// - Returns: `nil` when all is well.
func describe(_ news: BackupNews) -> String? {
    switch news {
    case .written: nil
    case .unreadable:
        "WARNING: your words do not open the backup of your contacts at the server. It is left as it is; changes stay here only."
    case .tooLarge(let bytes):
        "Your contacts are too many for a backup: \(bytes) bytes, and \(Limits.backupBytesMax) is the most. Changes stay here only."
    case .refused(let status):
        "The server does not take the backup of your contacts (\(status)). Changes stay here only."
    }
}

/// - Parameter missing: in the backup, but without keys as yet.
func describe(restored added: Int, missing: Int) -> String {
    let back =
        switch added {
        case 0: missing == 0 ? "There were no contacts to bring back." : "No contact is back yet."
        case 1: "1 contact is back."
        default: "\(added) contacts are back."
        }
    return missing == 0 ? back : "\(back) Keys are still missing for \(missing); each command that connects asks again."
}

func describe(_ reason: FailureReason) -> String {
    switch reason {
    case .noSuchPerson: "nobody has this Whisper ID"
    case .forbidden: "this person cannot be written to"
    case .banned: "your identity is banned"
    case .rejected: "the server did not take it"
    case .triedTooOften: "tried too often without success"
    case .badKey: "their key cannot be used"
    case .fileNotUploaded: "its file could not be uploaded"
    case .cancelled: "you cancelled it"
    }
}

/// - Parameter count: messages that are queued again.
func describe(retried count: Int) -> String {
    switch count {
    case 0: "Nothing was given up."
    case 1: "1 message is sent again."
    default: "\(count) messages are sent again."
    }
}

func describe(cancelled count: Int) -> String {
    switch count {
    case 0: "Nothing was waiting."
    case 1: "1 message will not be sent."
    default: "\(count) messages will not be sent."
    }
}

/// Asks a core one thing once there is a session with the server.
/// - Parameter words: what is said of a refusal.
func asking<T: Sendable>(
    _ options: ProfileOptions, _ words: (CoreClient.Refusal) -> String, _ body: (CoreClient) async throws -> T
) async throws -> T {
    try await options.talk { core in
        try await waitUntilOnline(core.events(), within: .seconds(20))
        do {
            return try await body(core)
        } catch let refusal as CoreClient.Refusal {
            throw Problem(words(refusal))
        }
    }
}
