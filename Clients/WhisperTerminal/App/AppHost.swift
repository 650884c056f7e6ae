import Contract
import Glibc
import TerminalText
import WhisperCore

/// Opens the app's door of a daemon when somebody asks for it, and makes launch files.
actor AppHost {
    /// Attempts to find a port that is free at both addresses of this machine.
    private static let portsMax = 16
    /// The request of `whisper app` at a daemon's own socket.
    static let request = "door_open"

    private let core: Core
    private let about: AppDoor.About
    private let policy: AppAddress.Policy
    private let file: String
    private let quit: @Sendable () -> Void
    private let launch: AppLaunch
    private var opening: Task<(AppDoor, DaemonHTTP), any Error>?

    /// - Parameters:
    ///   - file: keeps the address.
    ///   - launch: makes the launch files.
    init(
        _ core: Core, _ about: AppDoor.About, _ policy: AppAddress.Policy = .auto, keeping file: String,
        launch: AppLaunch = AppLaunch(), quit: @escaping @Sendable () -> Void
    ) {
        (self.core, self.about, self.policy, self.file) = (core, about, policy, file)
        (self.launch, self.quit) = (launch, quit)
    }

    /// Opens the door, if it is not open.
    /// - Returns: the path of a new launch file.
    func open() async throws -> String {
        let opening = self.opening ?? Task { try await self.listen() }
        self.opening = opening
        let door: AppDoor
        do {
            door = try await opening.value.0
        } catch {
            if self.opening == opening { self.opening = nil }
            throw error
        }
        return try self.launch.file(to: door.address, token: door.sessions.launch())
    }

    func close() async {
        self.launch.removeAll()
        if let opening { try? await opening.value.1.close() }
    }

    private func listen() async throws -> (AppDoor, DaemonHTTP) {
        let isFresh = self.policy == .fresh || self.policy == .auto && AppAddress.hasOtherPeople()
        if !isFresh, let kept = AppAddress.kept(in: self.file), let opened = try await self.listen(at: kept) {
            return opened
        }
        for _ in 0..<Self.portsMax {
            guard let opened = try await self.listen(at: AppAddress(label: AppAddress.label(), port: 0)) else {
                continue
            }
            if !isFresh { opened.0.address.keep(in: self.file) }
            return opened
        }
        throw Problem("No port is free at both 127.0.0.1 and ::1.")
    }

    /// - Parameter address: with the port 0 for any.
    /// - Returns: `nil` if the port is taken at one of the two addresses of this machine.
    private func listen(at address: AppAddress) async throws -> (AppDoor, DaemonHTTP)? {
        let launch = self.launch
        let door = AppDoor(
            at: address, self.about, sessions: AppSessions { launch.removeAll() }, quit: self.quit)
        let http = DaemonHTTP(self.core, door: door)
        do {
            try await http.listen(at: LoopbackAddress(host: "127.0.0.1", port: address.port))
            guard let port = http.port else { return nil }
            // A browser asks `::1` first: whoever holds it would get the page's requests.
            if Self.hasIPv6 { try await http.listen(at: LoopbackAddress(host: "::1", port: port)) }
            door.listens(at: port)
            return (door, http)
        } catch {
            await http.close()
            return nil
        }
    }

    /// A machine may have no loopback of IPv6.
    private static let hasIPv6: Bool = {
        let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { Glibc.close(descriptor) }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
            }
        }
    }()

    // MARK: Requests at the socket

    /// - Returns: `nil` if the line is another request.
    nonisolated func answer(_ line: [UInt8]) async -> [UInt8]? {
        guard case .object(let members) = JSONText(line), members.string("method") == Self.request else { return nil }
        var json = JSONWriter()
        json.add("jsonrpc", "2.0")
        json.add("id", json: members["id"] ?? Array("null".utf8))
        do {
            var result = JSONWriter()
            result.add("file", try await self.open())
            json.add("result", json: result.finished())
        } catch {
            var refusal = JSONWriter()
            refusal.add("code", JSONRPC.Code.refused.rawValue)
            refusal.add("message", "\(error)")
            json.add("error", json: refusal.finished())
        }
        return json.finished()
    }
}
