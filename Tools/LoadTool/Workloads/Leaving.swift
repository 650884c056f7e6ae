import Contract
import LocalStack
import TestKit

/// People who leave, one after the other: until each has the answer, CPU of the decision, and CPU until no service has anything
/// left. Then one person with a great deal leaves, and the ledger is walked once with `rowsOfOthers` rows that stay.
/// The services look again 90 s after a decision, and walk a day after it. Here the clock of the data is moved instead.
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
    try await age(stack, "100 seconds", until: "done @> array_remove(auth.erasure_parts(), 'ledger')")
    let erased = await CPUReading(stack)
    say("· one with 10,000 messages that wait, 200 groups and 1,000 peers leaves")
    let heavy = try await Person().logIn(on: try await TestClient.connect(to: stack.endpoint(ofGateway: 1)))
    try await stack.postgres.run(fill(heavy.id), database: "whisper")
    let full = await CPUReading(stack)
    _ = try await leave(heavy)
    try await age(stack, "100 seconds", until: "done @> array_remove(auth.erasure_parts(), 'ledger')")
    let emptied = await CPUReading(stack)
    say("· the ledger is walked")
    try await stack.postgres.run(
        """
        INSERT INTO router.ledger (message_id, sender, recipient, number, accepted_at, id_case, day, status)
        SELECT gen_random_uuid(), n + 100000, n + 200000, n, now(), 0, router.day(now()), 2
        FROM generate_series(1, \(rowsOfOthers)) AS n
        """, database: "whisper")
    let filled = await CPUReading(stack)
    try await age(stack, "25 hours", until: "finished_at IS NOT NULL")
    let walked = await CPUReading(stack)
    return Report(
        .leaving,
        figures: [
            Figure("p99 until the answer", told.milliseconds(99), "ms", aim: 300),
            Figure("CPU of a decision", decided.since(before).servers / Double(count), "µs"),
            Figure("CPU until it is done everywhere", erased.since(decided).servers / Double(count), "µs"),
            Figure("CPU of one with a great deal", emptied.since(full).servers / 1_000_000, "s", aim: 3),
            Figure("CPU of a walk over \(rowsOfOthers) rows", walked.since(filled).servers / 1_000_000, "s", aim: 120),
        ],
        tables: [.latencies([told]), decided.since(before).per("decision", count: count)], checks: [])
}

private let rowsOfOthers = 10_000_000

private func age(_ stack: LocalStack, _ time: String, until condition: String) async throws {
    _ = try await stack.postgres.run(
        "UPDATE auth.erasures SET decided_at = decided_at - interval '\(time)'", database: "whisper")
    try await waitUntil(condition, within: .seconds(900), every: .seconds(1)) {
        try await stack.postgres.run(
            "SELECT bool_and(\(condition)) FROM auth.erasures", database: "whisper") == "t"
    }
}

/// Mail of a thousand people, who are peers, and groups of ten of them.
private func fill(_ id: String) -> String {
    """
    CREATE TEMPORARY TABLE heavy AS SELECT whisper_id AS id FROM auth.identities WHERE auth.whisper_id_text(whisper_id) = '\(id)';
    INSERT INTO router.ledger (message_id, sender, recipient, number, accepted_at, id_case, day)
        SELECT gen_random_uuid(), n % 1000 + 100000, id, nextval('router.mail_numbers'), now(), 0, router.day(now())
        FROM heavy, generate_series(1, 10000) AS n;
    INSERT INTO router.mailbox (recipient, number, sender, message_id, accepted_at, id_case, payload, segment)
        SELECT recipient, number, sender, message_id, accepted_at, 0, repeat('x', 400)::bytea, router.segment(number)
        FROM router.ledger JOIN heavy ON recipient = id;
    INSERT INTO router.peers (identity, peer, last_sent_at)
        SELECT id, n + 100000, now() FROM heavy, generate_series(1, 1000) AS n
        UNION ALL SELECT n + 100000, id, now() FROM heavy, generate_series(1, 1000) AS n;
    INSERT INTO router.groups (group_id, title, owner, revision, created_at, updated_at)
        SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'a group', 100001, 1, now(), now()
        FROM generate_series(1, 200) AS n;
    INSERT INTO router.group_members (group_id, member, role, joined_at)
        SELECT group_id, 100000 + n, CASE n WHEN 1 THEN 0 ELSE 2 END, now() FROM router.groups, generate_series(1, 9) AS n
        UNION ALL SELECT group_id, id, 2, now() FROM router.groups, heavy;
    """
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
