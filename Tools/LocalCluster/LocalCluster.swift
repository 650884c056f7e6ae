import Foundation
import LocalStack

/// Starts the cluster, proves it, keeps it running until a person or a supervisor says stop, and takes it down.
/// - Returns: the exit status of the program.
func runLocalCluster(_ settings: Settings) async -> Int32 {
    let stack: LocalStack
    do {
        stack = try LocalStack(settings.stack)
    } catch {
        say("error: \(error)")
        return 1
    }
    return await untilAskedToStop {
        do {
            try await stack.start { say("· \($0)") }
        } catch  where Task.isCancelled {
            return settings.statusWhenInterrupted
        } catch LaunchError.portTaken(let port)
            where [settings.port, settings.opsPort, settings.turnPort].contains(port)
        {
            let name = port == settings.port ? "PORT" : port == settings.opsPort ? "OPS_PORT" : "TURN_PORT"
            say("error: port \(port) is taken by another process; choose another with \(name)=…")
            return 1
        } catch LaunchError.folderInUse(let folder) {
            say("error: another cluster runs in \(folder); stop it, or choose another folder with DATA_DIR=…")
            return 1
        } catch {
            say("error: \(error)")
            return 1
        }
        let status = await serve(stack, settings)
        say("· stopping")
        await stack.stop()
        say("· stopped; nothing is left running")
        return status
    }
}

/// Everything between start and stop.
private func serve(_ stack: LocalStack, _ settings: Settings) async -> Int32 {
    do {
        say("· proving it with a conversation between two clients\n")
        try await proveConversation(endpoint: stack.endpoint, in: stack.folder + "/conversation") { say("  \($0)") }
        say("")
    } catch  where Task.isCancelled {
        return settings.statusWhenInterrupted
    } catch {
        say("\nerror: the conversation failed: \(error)\nLogs are in \(stack.folder)/log")
        if settings.endsAfterConversation { return 1 }
    }
    if settings.endsAfterConversation { return 0 }
    let folder = stack.folder + "/storyteller"
    await withStoryteller(endpoint: stack.endpoint, origin: stack.publicURL, in: folder) { link in
        say(welcome(stack, settings, listen: link))
        await stack.keepAlive { say("! \($0)") }
    }
    return 0
}

/// - Parameter body: gets the link to a live conversation, in which somebody types while it runs; `nil` if there is none.
private func withStoryteller(
    endpoint: String, origin: String, in folder: String, _ body: (String?) async -> Void
) async {
    let teller: Storyteller
    do {
        teller = try await Storyteller(endpoint: endpoint, origin: origin, folder: folder)
    } catch {
        say("! nobody will type for you: \(error)")
        return await body(nil)
    }
    await withTaskGroup(of: Void.self) { group in
        group.addTask { await teller.run() }
        await body(await teller.begins(within: storytellerWaitMax) ? teller.link : nil)
        group.cancelAll()
    }
}

/// A cluster that takes longer for its first live conversation is slow, and shown without one.
private let storytellerWaitMax = Duration.seconds(20)

/// - Parameter link: to a live conversation.
private func welcome(_ stack: LocalStack, _ settings: Settings, listen link: String?) -> String {
    let programs = stack.configuration.programs
    var lines = [
        "Whisper is running.",
        "",
        "  endpoint   \(stack.endpoint)   (HTTP: \(stack.publicURL))",
        "  operations \(stack.opsURL)   /console /admin/* /ready /metrics /ops/{service}/{instance}/metrics",
        "  relay      \(stack.configuration.hasRelay ? stack.relay.urls[0] : "none: coturn is not installed")",
        "  data       \(stack.folder)   (logs in log/)",
    ]
    if settings.adminToken == nil { lines.append("  ADMIN_TOKEN  \(stack.configuration.adminToken)") }
    if settings.viewerToken == nil { lines.append("  VIEWER_TOKEN \(stack.configuration.viewerToken)") }
    if let link {
        lines += ["", "Open this in a browser: somebody types there, and you see each key.", "  \(link)"]
    }
    lines += [
        "",
        "Type yourself, in another terminal:",
        "  \(programs)/whisper init --profile me --server \(stack.endpoint)",
        "  \(programs)/whisper whisper --profile me --admission link hello",
        "",
        "Chat, in two other terminals:",
        "  \(programs)/whisper --help",
        "",
        "Ctrl-C stops everything.",
        "",
    ]
    return lines.joined(separator: "\n")
}

/// Runs `body` until it returns, or cancels it at the first SIGINT, SIGTERM or SIGHUP.
/// - Returns: what `body` returns; 0 when it was cancelled before it had a result.
private func untilAskedToStop(_ body: @escaping @Sendable () async -> Int32) async -> Int32 {
    let (asked, ask) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
        signal(number, SIG_IGN)  // the source hears it nevertheless
        let source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler { ask.yield() }
        source.resume()
        return source
    }
    defer { for source in sources { source.cancel() } }
    return await withTaskGroup(of: Int32?.self) { group in
        group.addTask { await body() }
        group.addTask {
            for await _ in asked { break }
            return nil
        }
        // The first to end decides; `body` is waited for in any case.
        let first = await group.next() ?? nil
        group.cancelAll()
        if let first { return first }
        for await status in group { if let status { return status } }
        return 0
    }
}

/// Prints a line at once, whether a person or a file reads it.
func say(_ line: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
}
