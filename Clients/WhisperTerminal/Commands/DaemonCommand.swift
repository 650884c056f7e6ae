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
            notifications with the method "event". Standard input and output are used unless --socket names a path.
            Several programs may be connected to the socket. Each reads events under a consumer's name of its own.
            """)

    @OptionGroup var options: ProfileOptions
    @Option(help: "Listen at this Unix socket, which only this user may open.") var socket: String?
    @Option(help: "Address of the server, ws:// or wss://. Default: the profile's.") var server: String?
    @Option(name: .customLong("ca"), help: "PEM file with certificates to trust beside the system's, for wss://.")
    var authorityFile: String?
    @Option(help: "File with 32 random bytes that seal the store, of mode 0600. It seals a plain store.") var keyFile:
        String?
    @Flag(name: .customLong("openrpc"), help: "Print the OpenRPC document of all verbs, and end.") var isDescribing =
        false

    /// Programs that are connected to the socket.
    private static let programsMax = 16
    /// How long one more waits for another to be gone.
    private static let placeWait: DispatchTimeInterval = .seconds(5)

    func run() async throws {
        if self.isDescribing { return print(String(decoding: CoreAnswer.schema, as: UTF8.self)) }
        signal(SIGPIPE, SIG_IGN)
        let core = try self.open()
        core.leaveEventsToSeats()
        let ended = Ended()
        let signals = [SIGTERM, SIGINT].map { ended.on($0) }
        let queue = DispatchQueue(label: "whisper-daemon")
        if let path = self.socket {
            let socket: DaemonSocket
            do {
                socket = try DaemonSocket(at: path)
            } catch {
                await core.close()
                throw error
            }
            queue.async { Self.serve(socket, core, ended) }
            await ended.wait()
            socket.close()
        } else {
            queue.async {
                if let seat = core.seat() {
                    DaemonSession(core, at: seat, input: STDIN_FILENO, output: STDOUT_FILENO) { ended.tell() }.serve()
                }
                ended.tell()
            }
            await ended.wait()
        }
        for source in signals { source.cancel() }
        await core.close()
    }

    private func open() throws -> Core {
        var (server, authority) = (self.server, self.authorityFile)
        let key = try self.keyFile.map { try KeyFile.read($0) }
        if Profile.exists(at: self.options.folder) {
            let profile = try self.options.open(key: key.flatMap { StoreKey(.raw, $0) })
            defer { profile.close() }
            server = try server ?? profile.store.server().map { "\($0)" }
            authority = try authority ?? profile.store.authorityFile()
        }
        let address = server ?? "\(ServerAddress.local)"
        guard ServerAddress(address) != nil else {
            throw Problem("\"\(address)\" is no server address. It looks like wss://chat.example.")
        }
        let configuration = CoreConfiguration(
            folder: self.options.folder, server: address, authorityFile: authority)
        do throws(CoreError) {
            return try Core.open(configuration, key: key)
        } catch {
            throw Problem(error.message)
        }
    }

    /// Serves programs side by side. One that has no place is told so and sent away.
    private static func serve(_ socket: DaemonSocket, _ core: Core, _ ended: Ended) {
        let places = DispatchSemaphore(value: Self.programsMax)
        while let program = socket.accept() {
            // A program that was started anew may come before its end was seen.
            guard places.wait(timeout: .now() + Self.placeWait) == .success else {
                DaemonSession.write(JSONRPC.isFull + [0x0A], to: program)
                close(program)
                continue
            }
            DispatchQueue(label: "whisper-daemon-requests").async {
                if let seat = core.seat() {
                    DaemonSession(core, at: seat, input: program, output: program) {
                        shutdown(program, Int32(SHUT_RDWR))
                    }.serve()
                }
                close(program)
                places.signal()
            }
        }
        ended.tell()
    }
}

/// That the daemon is to end: its program has gone, or a signal has come.
private final class Ended: Sendable {
    private let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))

    func tell() { self.continuation.finish() }
    func wait() async { for await _ in self.stream {} }

    func on(_ number: Int32) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { self.tell() }
        source.resume()
        return source
    }
}
