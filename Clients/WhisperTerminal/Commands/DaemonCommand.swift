import ArgumentParser
import Dispatch
import Glibc
import TerminalText
import WhisperClient
import WhisperCore

struct DaemonCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon", abstract: "Serve an identity to programs, by JSON-RPC 2.0.",
        discussion: """
            A line is a request, an answer or an event. Methods are the verbs of docs/core.md, and events are
            notifications with the method "event". Standard input and output are used unless --socket names a path,
            --http an address or --webhook a URL.
            Several programs may be connected to the socket. Each reads events under a consumer's name of its own.
            """)

    @OptionGroup var options: ProfileOptions
    @Option(help: "Listen at this Unix socket, which only this user may open.") var socket: String?
    @Option(help: "Serve HTTP at this address, 127.0.0.1:PORT or [::1]:PORT: POST /rpc, GET /events, GET /check.")
    var http: String?
    @Option(help: "File with the token that HTTP requests must show, 32 to 256 characters, of mode 0600.")
    var httpToken: String?
    @Option(help: "Connect, and send each numbered event to this URL: https, or http of this machine.")
    var webhook: String?
    @Option(help: "File with the key that signs what the webhook gets, 32 to 256 characters, of mode 0600.")
    var webhookKey: String?
    @Option(help: "Address of the server, ws:// or wss://. Default: the profile's.") var server: String?
    @Option(name: .customLong("ca"), help: "PEM file with certificates to trust beside the system's, for wss://.")
    var authorityFile: String?
    @Option(help: "File with 32 random bytes that seal the store, of mode 0600. It seals a plain store.") var keyFile:
        String?
    @Option(
        help: "From which level on programs are told what the daemon does: debug, info, notice, warning or error.",
        transform: Self.level)
    var logLevel: CoreConfiguration.LogLevel?
    @Flag(name: .customLong("openrpc"), help: "Print the OpenRPC document of all verbs, and end.") var isDescribing =
        false

    private static func level(_ word: String) throws -> CoreConfiguration.LogLevel {
        guard let level = CoreConfiguration.LogLevel(rawValue: word) else {
            throw ValidationError("--log-level is debug, info, notice, warning or error.")
        }
        return level
    }

    func validate() throws {
        if let http {
            guard LoopbackAddress(http) != nil else {
                throw ValidationError("--http is 127.0.0.1:PORT or [::1]:PORT.")
            }
        }
        if let webhook, !WebhookLink.isAllowed(webhook) {
            throw ValidationError("--webhook is an https URL, or an http URL of this machine.")
        }
        guard (self.http == nil) == (self.httpToken == nil), (self.webhook == nil) == (self.webhookKey == nil) else {
            throw ValidationError("--http and --http-token, and --webhook and --webhook-key, belong together.")
        }
    }

    func run() async throws {
        if self.isDescribing { return print(String(decoding: CoreAnswer.schema, as: UTF8.self)) }
        signal(SIGPIPE, SIG_IGN)
        let token = try self.httpToken.map { BearerToken(try SecretFile.token($0, for: "token")) }
        let key = try self.webhookKey.map { try SecretFile.token($0, for: "webhook key") }
        let core = try self.open()
        core.leaveEventsToSeats()
        do {
            try await self.serve(core, token: token, webhookKey: key)
        } catch {
            await core.close()
            throw error
        }
        await core.close()
    }

    /// Returns when the daemon is to end.
    private func serve(_ core: Core, token: BearerToken?, webhookKey: [UInt8]?) async throws {
        let ended = Ended()
        let signals = [SIGTERM, SIGINT].map { ended.on($0) }
        let queue = DispatchQueue(label: "whisper-daemon")
        let socket = try self.socket.map { try DaemonSocket(at: $0) }
        defer { socket?.close() }
        let own = DaemonPrograms.ownSocket(of: self.options)
        defer { own?.close() }
        let about = AppDoor.About(
            profile: self.options.profile, server: core.configuration.server, isOlder: true)
        let app = AppHost(core, about, keeping: self.options.doorFile) { ended.tell() }
        let programs = DaemonPrograms(core: core, app: app, ended: ended)
        if let token, let address = self.http.flatMap({ LoopbackAddress($0) }) {
            try await DaemonHTTP(core, token: token).listen(at: address)
        }
        if let webhookKey { try await self.startWebhook(core, key: webhookKey) }
        if let own {
            DispatchQueue(label: "whisper-daemon-own").async { programs.serve(own) }
        }
        if let socket { queue.async { programs.serve(socket) } }
        if socket != nil || self.http != nil || self.webhook != nil {
            await ended.wait()
        } else {
            queue.async {
                if let seat = core.seat() {
                    DaemonSession(core, at: seat, input: STDIN_FILENO, output: STDOUT_FILENO) { ended.tell() }.serve()
                }
                ended.tell()
            }
            await ended.wait()
        }
        await app.close()
        for source in signals { source.cancel() }
    }

    /// It connects, because nobody else may be there to ask for it.
    private func startWebhook(_ core: Core, key: [UInt8]) async throws {
        guard let url = self.webhook, let seat = core.seat() else { return }
        let link: WebhookLink
        do throws(LinkError) {
            link = try WebhookLink(url, key: key, authorityFile: core.configuration.authorityFile)
        } catch {
            throw Problem("Cannot use the webhook: \(error).")
        }
        let hook = Webhook(seat: seat) {
            await link.post($0, at: .now)
        } wait: {
            try await Task.sleep(for: $0)
        }
        if let error = await seat.refusalToRead(for: Webhook.consumer) {
            throw Problem(error.code == .noIdentity ? "A webhook needs an identity: make one first." : error.message)
        }
        _ = await core.perform("connect")
        Task { await hook.run() }
    }

    private func open() throws -> Core {
        let key = try self.keyFile.map { try KeyFile.read($0) }
        do {
            return try self.options.core(
                as: .daemon, server: self.server, authorityFile: self.authorityFile, key: key, logLevel: self.logLevel)
        } catch let error as ProfileError {
            throw self.options.problem(error)
        } catch let error as CoreError {
            throw Problem(error.message)
        }
    }
}
