import Dispatch
import Glibc
import TerminalText
import WhisperCore

/// Programs that are connected to the sockets of a daemon, side by side.
struct DaemonPrograms: Sendable {
    private static let programsMax = 16
    /// How long one more waits for another to be gone.
    private static let placeWait: DispatchTimeInterval = .seconds(5)

    let core: Core
    /// Opens the app's door for them.
    let app: AppHost
    let ended: Ended
    private let places = DispatchSemaphore(value: Self.programsMax)

    init(core: Core, app: AppHost, ended: Ended) {
        (self.core, self.app, self.ended) = (core, app, ended)
    }

    /// Other commands of the profile find the daemon there.
    /// - Returns: `nil` if the place cannot be used: the daemon serves its programs all the same.
    static func ownSocket(of options: ProfileOptions) -> DaemonSocket? {
        do {
            return try DaemonSocket(at: options.daemonSocket)
        } catch {
            let words = "Other commands of this profile cannot use the daemon: \(error)\n"
            DaemonSession.write(Array(words.utf8), to: STDERR_FILENO)
            return nil
        }
    }

    /// Returns when the socket is closed. It blocks its thread. A program that has no place is told so and sent away.
    func serve(_ socket: DaemonSocket) {
        while let program = socket.accept() {
            // A program that was started anew may come before its end was seen.
            guard self.places.wait(timeout: .now() + Self.placeWait) == .success else {
                DaemonSession.write(JSONRPC.isFull + [0x0A], to: program)
                close(program)
                continue
            }
            DispatchQueue(label: "whisper-daemon-requests").async {
                if let seat = self.core.seat() {
                    DaemonSession(self.core, at: seat, input: program, output: program, app: self.app) {
                        shutdown(program, Int32(SHUT_RDWR))
                    }.serve()
                }
                close(program)
                self.places.signal()
            }
        }
        self.ended.tell()
    }
}

/// That the daemon is to end: its program has gone, or a signal has come.
final class Ended: Sendable {
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
