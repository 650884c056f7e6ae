import Contract
import LocalStack
import TestKit

/// People who leave, one after the other: until each has the answer, CPU of the decision, and CPU until no service has anything
/// left. The services look again 90 s after a decision. Here the clock of the data is moved instead.
func measureLeaving(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let count = options.count ?? 500
    var told = Latency("from account_delete until the answer")
    say("· registering \(count) people, each of whom writes to the one before")
    var people: [Phone] = []
    for number in 0..<count {
        let person = try await Person().logIn(
            on: try await TestClient.connect(to: stack.endpoint(ofGateway: 1 + number % options.gateways)))
        if let friend = people.last { try await person.text(friend) }
        people.append(person)
    }
    say("· all leave")
    let before = await CPUReading(stack)
    for person in people { told.record(nanoseconds: UInt64(try await leave(person) / .nanoseconds(1))) }
    let decided = await CPUReading(stack)
    _ = try await stack.postgres.run(
        "UPDATE auth.erasures SET decided_at = decided_at - interval '100 seconds'", database: "whisper")
    try await waitUntil("all services but the ledger are done", within: .seconds(600), every: .seconds(1)) {
        try await stack.postgres.run(
            """
            SELECT count(*) FROM auth.erasures WHERE NOT done @> array_remove(auth.erasure_parts(), 'ledger')
            """, database: "whisper") == "0"
    }
    let erased = await CPUReading(stack)
    return Report(
        .leaving,
        figures: [
            Figure("p99 until the answer", told.milliseconds(99), "ms", aim: 300),
            Figure("CPU of a decision", decided.since(before).servers / Double(count), "µs"),
            Figure("CPU until it is done everywhere", erased.since(decided).servers / Double(count), "µs"),
        ],
        tables: [.latencies([told]), decided.since(before).per("decision", count: count)], checks: [])
}

/// - Returns: the time from the signed frame to its answer.
private func leave(_ phone: Phone) async throws -> Duration {
    let challenge = try await phone.ask("account_delete_begin").expecting("account_delete_challenge").payload
    guard let id = challenge["challengeId"]?.string.flatMap({ UUIDText($0) }), let whisperID = WhisperID(phone.id)
    else {
        throw LoadError.refused("account_delete_begin")
    }
    let statement = AccountDelete.statement(
        challengeID: id, whisperID: whisperID, sentMail: .withdraw,
        challenge: challenge["challenge"]?.string?.bytesOfBase64 ?? [])
    let fields: Fields = [
        "challengeId": "\(id)", "whisperId": phone.id, "sentMail": "withdraw",
        "signature": phone.person.keys.sign(Keys.sha256(statement)).base64,
    ]
    let start = ContinuousClock.now
    try await phone.ask("account_delete", fields).expecting("account_deleted")
    return .now - start
}
