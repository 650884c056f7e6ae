import Contract
import Foundation
import LocalStack
import TestKit
import WhisperClient
import WhisperCore

/// The client core on a sealed store: what a person or a bot waits for, and what it costs. All but the sends over loopback is
/// without a network.
func measureCore(_ options: LoadOptions) async throws -> Report {
    let folder = try TemporaryFolder(named: "core")
    defer { if !options.keep { folder.remove() } }
    let shape = CoreShape(stored: options.stored)
    var (figures, tables): ([Figure], [Table]) = ([], [])

    say("· filling a store with \(shape.stored) messages and \(shape.people) people")
    let filling = ContinuousClock.now
    var profile = try CoreProfile(folder.path + "/large")
    try profile.fill(shape)
    figures.append(Figure("messages stored", Double(shape.stored)))
    figures.append(
        Figure("storing each, 1,000 in a commit", (ContinuousClock.now - filling) / .microseconds(shape.stored), "µs"))
    let file = try FileManager.default.attributesOfItem(atPath: profile.folder + "/whisper.sqlite")
    figures.append(Figure("bytes of each", Double((file[.size] as? Int ?? 0) / shape.stored), "B"))

    say("· opening")
    figures += try await openings(profile, in: folder.path)
    say("· reading")
    let reading = try await readings(&profile)
    figures += reading.figures
    tables.append(.latencies(reading.latencies))

    say("· \(shape.drained) messages come, twice; then some go")
    figures += try await drains(&profile, shape, options)
    say("· sealed and plain stores in turn")
    figures += try cipher(in: folder.path)
    say("· \(shape.queued / 10) and \(shape.queued) messages wait to be sent")
    var checks: [Check] = []
    for count in [shape.queued / 10, shape.queued] { figures += try await queue(of: count, in: folder.path) }
    figures += try await programs(options, in: folder.path)
    say("· sending to a cluster on this machine")
    let sending = try await Workload.core.onCluster(options) { _, stack, _ in
        try await sends(over: stack, in: folder.path)
    }
    figures += sending.figures
    checks += sending.checks
    return Report(.core, figures: figures, tables: tables, checks: checks)
}

extension Latency {
    /// Times of calls, one after the other.
    fileprivate static func of(_ name: String, _ count: Int, _ call: (Int) throws -> Void) rethrows -> Latency {
        var latency = Latency(name)
        for number in 0..<count {
            let start = ContinuousClock.now
            try call(number)
            latency.record(nanoseconds: UInt64((ContinuousClock.now - start) / .nanoseconds(1)))
        }
        return latency
    }
}

// MARK: Opening

private func configuration(_ folder: String, _ kind: CoreConfiguration.KeyKind = .raw) -> CoreConfiguration {
    CoreConfiguration(folder: folder, server: CoreProfile.address, keyKind: kind)
}

private func openings(_ profile: CoreProfile, in folder: String) async throws -> [Figure] {
    var raw = Latency("open, raw key")
    for _ in 0..<20 {
        let start = ContinuousClock.now
        let core = try Core.open(
            configuration(profile.folder), key: CoreProfile.measuredKey, link: { _ in CoreServer() })
        raw.record(nanoseconds: UInt64((ContinuousClock.now - start) / .nanoseconds(1)))
        await core.close()
    }
    let passphrase = Array("seven words of nobody".utf8)
    let small = try CoreProfile(folder + "/passphrase", key: passphrase, kind: .passphrase)
    let start = ContinuousClock.now
    let core = try Core.open(configuration(small.folder, .passphrase), key: passphrase, link: { _ in CoreServer() })
    let seconds = (ContinuousClock.now - start) / .milliseconds(1)
    await core.close()
    return [
        Figure("open, raw key, p50", raw.milliseconds(50), "ms", aim: 50),
        Figure("open, raw key, longest of 20", raw.milliseconds(100), "ms", aim: 100),
        Figure("open, passphrase (Argon2id), empty store", seconds, "ms"),
    ]
}

// MARK: Reading

private func readings(_ profile: inout CoreProfile) async throws -> (figures: [Figure], latencies: [Latency]) {
    let core = try Core.open(
        configuration(profile.folder), key: CoreProfile.measuredKey, link: { _ in CoreServer() })
    func asked(_ command: String) throws {
        let answer = core.query(command)
        guard answer.contains(#""result":"#) else { throw CoreTrouble.refused(answer) }
    }
    let chats = try Latency.of("chat_get, 50 messages", 1_000) { _ in
        try asked(#"chat_get {"chat":"\#(profile.person())","limit":50}"#)
    }
    let list = try Latency.of("chat_list, 50 chats", 200) { _ in try asked(#"chat_list {"limit":50}"#) }
    let words = try Latency.of("search, any word, 20", 500) { _ in
        try asked(#"search {"text":"\#(profile.word())","limit":20}"#)
    }
    let pairs = try Latency.of("search, two words, 20", 500) { _ in
        try asked(#"search {"text":"\#(profile.word()) \#(profile.word())","limit":20}"#)
    }
    let rare = try Latency.of("search, rare word, 20", 200) { _ in
        try asked(#"search {"text":"\#(CoreProfile.rareWord)","limit":20}"#)
    }
    await core.close()
    return (
        [
            Figure("chat_get of 50, p99", chats.milliseconds(99), "ms", aim: 5),
            Figure("chat_list of 50, p99", list.milliseconds(99), "ms", aim: 10),
            Figure("search, first 20, p99", words.milliseconds(99), "ms", aim: 50),
            Figure("search, rare word, p99", rare.milliseconds(99), "ms", aim: 10),
        ], [chats, list, words, pairs, rare]
    )
}

// MARK: Receiving

private func drains(
    _ profile: inout CoreProfile, _ shape: CoreShape, _ options: LoadOptions
) async throws -> [Figure] {
    let pages = max(1, shape.drained / CoreShape.page)
    _ = try profile.writeMail(pages: 2 * pages)
    let chat = profile.writers[0].id
    let arguments = [
        "core-process", "--folder", profile.folder, "--mail", profile.mail, "--pages", "\(pages)", "--chat", "\(chat)",
        "--sends", "1000", "--seconds", "\(options.seconds ?? 30)",
    ]
    let output = try await Command(
        StackConfiguration.programsBesideThisOne + "/whisper-load", arguments
    ).output(name: "core")
    let measured = try JSONDecoder().decode([String: Double].self, from: Data(output.utf8))
    func value(_ figure: CoreFigure) -> Double { measured[figure.rawValue] ?? .nan }
    let mebibyte = 1_048_576.0
    return [
        Figure("idle core, memory", value(.idleBytes) / mebibyte, "MiB", aim: 30),
        Figure("idle core, CPU", value(.idlePercent), "% of a core", aim: 0.1),
        Figure("idle core, wake-ups of threads", value(.idleWakeUps), "a minute", aim: 6),
        Figure("received message, CPU", value(.receiveMicroseconds), "µs", aim: 220),
        Figure("received messages", value(.receivePerSecond), "a second", least: 4_000),
        Figure("memory during a drain, most", value(.drainBytes) / mebibyte, "MiB", aim: 60),
        Figure("memory after it", value(.drainedBytes) / mebibyte, "MiB", aim: 60),
        Figure("verb beside a drain, 8 threads, p99", value(.questionMilliseconds), "ms", aim: 2),
        Figure("verbs asked meanwhile", value(.questions)),
        Figure("sent message without a network, CPU", value(.sendMicroseconds), "µs"),
        Figure("sent messages without a network", value(.sendPerSecond), "a second"),
    ]
}

// MARK: Cipher

/// The same work on a sealed and on a plain store, in turn.
private func cipher(in folder: String) throws -> [Figure] {
    let shape = CoreShape(stored: 20_000)
    var (inserts, reads) = ([Double](), [Double]())
    for key in [nil, CoreProfile.measuredKey] {
        var profile = try CoreProfile("\(folder)/cipher-\(key == nil ? "plain" : "sealed")", key: key)
        try profile.fill(shape)
        let opened = try Profile.open(at: profile.folder, key: key.flatMap { StoreKey(.raw, $0) })
        defer { opened.close() }
        var (insert, read) = (Double.infinity, Double.infinity)
        for _ in 0..<5 {
            let writing = ProcessReading()
            for _ in 0..<20 {
                let arrivals = (0..<CoreShape.page).map { _ in
                    Arrival.message(
                        Message(
                            id: .random(), peer: profile.person(), direction: .incoming(isRead: false),
                            content: .text(profile.words()), time: Timestamp.now))
                }
                _ = try opened.store.messages.keep(arrivals, at: .now)
            }
            let reading = ProcessReading()
            for _ in 0..<500 { _ = try opened.store.messages.page(with: profile.person(), limit: 50) }
            insert = min(insert, reading.cpu - writing.cpu)
            read = min(read, ProcessReading().cpu - reading.cpu)
        }
        inserts.append(insert)
        reads.append(read)
    }
    return [
        Figure("insert into a plain store, CPU", inserts[0] / Double(20 * CoreShape.page), "µs"),
        Figure("insert into a sealed store, CPU", inserts[1] / Double(20 * CoreShape.page), "µs"),
        Figure("cipher, on inserts (CPU)", (inserts[1] / inserts[0] - 1) * 100, "%", aim: 15),
        Figure("cipher, on reads (CPU)", (reads[1] / reads[0] - 1) * 100, "%", aim: 10),
    ]
}

// MARK: Queue

/// Starts with messages that were written without a connection, and sends them.
private func queue(of count: Int, in folder: String) async throws -> [Figure] {
    var profile = try CoreProfile("\(folder)/queue-\(count)")
    try profile.fill(CoreShape(stored: 1_000))
    try profile.queue(count)
    let server = CoreServer()
    let start = ContinuousClock.now
    let core = try Core.open(
        configuration(profile.folder), key: CoreProfile.measuredKey, link: { _ in server })
    let opened = (ContinuousClock.now - start) / .milliseconds(1)
    let before = ProcessReading()
    try await core.command("connect")
    try await waitUntil("all are accepted", within: .seconds(600)) { server.accepted >= count }
    let cpu = (ProcessReading().cpu - before.cpu) / Double(count)
    await core.close()
    return [
        Figure("open with \(count) queued", opened, "ms", aim: 300),
        Figure("draining each of \(count) queued, CPU", cpu, "µs"),
    ]
}

// MARK: Programs

private func programs(_ options: LoadOptions, in folder: String) async throws -> [Figure] {
    let programs = options.programs ?? StackConfiguration.programsBesideThisOne
    var figures: [Figure] = []
    let library = programs + "/libwhispercore.so"
    if access(library, R_OK) == 0 {
        let stripped = folder + "/libwhispercore.so"
        try await Command("/usr/bin/strip", ["-o", stripped, library]).run(name: "strip")
        let size = try FileManager.default.attributesOfItem(atPath: stripped)[.size] as? Int ?? 0
        figures.append(Figure("libwhispercore.so, stripped", Double(size) / 1_048_576, "MiB", aim: 30))
    }
    let terminal = programs + "/whisper"
    if access(terminal, X_OK) == 0 {
        let profile = try CoreProfile(folder + "/terminal/default", key: nil)
        let output = try await Command(
            "/usr/bin/python3", ["-c", coldStart, terminal, "id", "--home", folder + "/terminal"]
        ).output(name: "whisper id")
        let values = output.split(separator: " ").compactMap { Double($0.trimmingCharacters(in: .newlines)) }
        guard values.count == 2 else { throw CoreTrouble.refused(output) }
        _ = profile
        figures.append(Figure("whisper id, median of 20", values[0] * 1_000, "ms", aim: 60))
        figures.append(Figure("whisper id, memory", values[1] / 1_024, "MiB", aim: 25))
    }
    return figures
}

/// Starts a program twenty times. A process of its own does it, because the kernel counts the memory of whoever forks as the
/// child's. Prints the median in seconds, and the most memory in KiB.
private let coldStart = """
    resource, statistics, subprocess, sys, time = map(
        __import__, ["resource", "statistics", "subprocess", "sys", "time"])
    times = []
    for _ in range(20):
        start = time.perf_counter()
        subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    print(statistics.median(times), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    """

// MARK: Sending

/// Two cores on one cluster: one sends to the other, through HAProxy.
private func sends(over stack: LocalStack, in folder: String) async throws -> (figures: [Figure], checks: [Check]) {
    let count = 1_000
    let server = "ws://127.0.0.1:\(stack.ports.public)"
    var (cores, ids): ([Core], [String]) = ([], [])
    for name in ["ann", "bob"] {
        let core = try Core.open(
            CoreConfiguration(folder: "\(folder)/\(name)", server: server), key: CoreProfile.measuredKey)
        try await core.command("identity_create")
        try await core.catchUp()
        let shown = try JSON(parsing: Array(try await core.command("identity_show").utf8))
        ids.append(shown["result"]?["whisperId"]?.string ?? "")
        cores.append(core)
    }
    let (ann, bob) = (cores[0], ids[1])
    try await ann.command(#"contact_add {"whisperId":"\#(bob)","name":"Bob"}"#)
    try await ann.event(#""type":"answer""#)
    let last = "\(UUIDText.random())"
    let (before, start) = (ProcessReading(), ContinuousClock.now)
    for number in 1...count {
        let id = number == count ? #","clientId":"\#(last)""# : ""
        try await ann.command(#"message_send {"to":"\#(bob)","text":"message \#(number)"\#(id)}"#)
    }
    // Messages to one person go in their order: with the last, all are accepted.
    try await waitUntil("all are accepted", within: .seconds(120)) {
        let state = ann.query(#"message_info {"messageId":"\#(last)"}"#)
        guard state.contains(#""result":"#) else { throw CoreTrouble.refused(state) }
        return !state.contains(#""state":"queued""#) && !state.contains(#""state":"sending""#)
    }
    let (after, seconds) = (ProcessReading(), (ContinuousClock.now - start) / .seconds(1))
    let refused = ann.query(#"message_info {"messageId":"\#(last)"}"#).contains(#""state":"failed"#) ? 1 : 0
    for core in cores { await core.close() }
    return (
        [
            Figure("sent to one person over loopback", Double(count) / seconds, "a second", least: 1_500),
            Figure("CPU of both cores for each", (after.cpu - before.cpu) / Double(count), "µs"),
        ], [Check("not accepted", refused)]
    )
}
