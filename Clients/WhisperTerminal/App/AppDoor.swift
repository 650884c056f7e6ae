import Contract
import Dispatch
import Glibc
import NIOCore
import NIOHTTP1
import Synchronization
import WhisperClient
import WhisperCore

/// The door of the app's page: one browser of this user, at one address, with a cookie and a key. `docs/app.md` has its rules.
final class AppDoor: HTTPDoor {
    /// The consumer of the page's events.
    static let consumer = "app"
    static let cookieName = "__Host-session"
    static let keyName = "whisper-key"
    /// How long the events of a window that has gone are kept for it.
    static let eventsKeptFor = DispatchTimeInterval.seconds(60)
    /// After the end of a window's stream the daemon locks it.
    private static let lockMinutes = 0...24 * 60

    /// The port is 0 until the door listens.
    private let place: Mutex<AppAddress>
    let sessions: AppSessions
    private let about: About
    private let codes = AppCodes()
    private let seal = AppSeal()
    /// Ends the daemon.
    private let quit: @Sendable () -> Void
    /// Beginnings and ends of streams so far.
    private let streams = Mutex(0)

    /// Facts of the daemon that the page shows.
    struct About: Sendable {
        var profile: String
        /// `nil` while the person has to choose a server.
        var server: String?
        /// Whether the daemon was there before the page.
        var isOlder: Bool
    }

    init(
        at address: AppAddress, _ about: About, sessions: AppSessions = AppSessions(),
        quit: @escaping @Sendable () -> Void
    ) {
        self.place = Mutex(address)
        (self.about, self.sessions, self.quit) = (about, sessions, quit)
    }

    var address: AppAddress { self.place.withLock { $0 } }

    func listens(at port: Int) { self.place.withLock { $0.port = port } }

    // MARK: Rules

    var idle: TimeAmount? { .seconds(60) }
    /// A reload is seen at once. A second window asks the person.
    var handOver: DispatchTimeInterval { .milliseconds(500) }
    /// A reload keeps streams and rooms.
    var grace: Duration { .seconds(10) }

    let headers: HTTPHeaders = [
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-embedder-policy": "require-corp",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": AppDoor.permissions,
        "content-security-policy": AppDoor.policy,
    ]

    static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; \
        connect-src 'self'; manifest-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; \
        worker-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'
        """
    static let permissions =
        ["camera", "microphone", "display-capture", "clipboard-write", "autoplay"].map { "\($0)=(self)" }
        .joined(separator: ", ") + ", "
        + [
            "accelerometer", "bluetooth", "clipboard-read", "geolocation", "gyroscope", "hid", "magnetometer", "midi",
            "payment", "publickey-credentials-get", "serial", "usb", "xr-spatial-tracking",
        ].map { "\($0)=()" }.joined(separator: ", ")

    private struct Route {
        var method: HTTPMethod
        /// The type of its body.
        var type: String?
        /// Whether the asker needs a session.
        var isClosed = true
    }

    private static let routes: [String: [Route]] = [
        "/": [Route(method: .GET, isClosed: false)],
        "/session": [Route(method: .POST, type: DoorAnswer.json, isClosed: false)],
        "/session/end": [Route(method: .POST, type: DoorAnswer.json)],
        AppSeal.unlockPath: [Route(method: .POST, type: DoorAnswer.json)],
        AppSeal.path: [Route(method: .POST, type: DoorAnswer.json)],
        "/app": [Route(method: .GET)],
        "/rpc": [Route(method: .POST, type: DoorAnswer.json)],
        "/events": [Route(method: .GET)],
        AppCodes.drawPath: [Route(method: .POST, type: DoorAnswer.json)],
        AppCodes.readPath: [Route(method: .POST, type: DoorAnswer.bytes)],
        DaemonFiles.path: [Route(method: .GET), Route(method: .POST, type: DoorAnswer.bytes)],
    ]

    private static func routes(to path: String) -> [Route] {
        self.routes[path] ?? (path.hasPrefix("/a/") ? [Route(method: .GET, isClosed: false)] : [])
    }

    /// Another user's process is sent away without a byte. If the kernel does not say, the rules hold alone.
    func admits(_ channel: any Channel) -> Bool { PeerUser.of(channel).map { $0 == geteuid() } ?? true }

    func refusal(of head: HTTPRequestHead) -> HTTPResponseStatus? {
        let (headers, address) = (head.headers, self.address)
        guard headers["host"] == [address.authority] else { return .misdirectedRequest }
        let routes = Self.routes(to: head.path)
        guard !routes.isEmpty else { return .notFound }
        guard let route = routes.first(where: { $0.method == head.method }) else { return .methodNotAllowed }
        guard Self.isFromHere(head) else { return .forbidden }
        let origins = headers["origin"]
        guard origins == [address.origin] || head.method == .GET && origins.isEmpty else { return .forbidden }
        guard headers["content-type"] == [route.type].compactMap({ $0 }) else { return .unsupportedMediaType }
        guard route.isClosed else { return nil }
        let keys = headers[Self.keyName]
        guard let cookie = Self.cookie(of: headers), keys.count == 1, self.sessions.isIn(cookie: cookie, key: keys[0])
        else { return .unauthorized }
        return self.seal.isLocked && !AppSeal.openPaths.contains(head.path) ? .locked : nil
    }

    /// Whether the browser says that the page itself asks. The page alone may be opened from elsewhere, as a whole document.
    private static func isFromHere(_ head: HTTPRequestHead) -> Bool {
        let (sites, headers) = (head.headers["sec-fetch-site"], head.headers)
        if sites == ["same-origin"] { return true }
        return head.path == "/" && [["none"], ["cross-site"], ["same-site"]].contains(sites)
            && headers["sec-fetch-mode"] == ["navigate"] && headers["sec-fetch-dest"] == ["document"]
    }

    /// - Returns: `nil` if there is none, or more than one.
    private static func cookie(of headers: HTTPHeaders) -> String? {
        let start = Self.cookieName + "="
        let cookies = headers["cookie"].flatMap { $0.split(separator: ";") }.map { $0.drop { $0 == " " } }
            .filter { $0.hasPrefix(start) }
        return cookies.count == 1 ? String(cookies[0].dropFirst(start.count)) : nil
    }

    // MARK: Answers

    func answer(_ head: HTTPRequestHead, _ body: [UInt8], from core: Core) async -> DoorAnswer {
        switch head.path {
        case "/": Self.answer(AppAssets.page)
        case "/session": self.begin(body)
        case "/session/end": self.end(head, body, core)
        case AppSeal.unlockPath: await self.seal.unlock(body, core, keepsServer: self.about.server != nil)
        case AppSeal.path: await self.seal.change(body, core)
        case "/app": DoorAnswer(.ok, self.state(of: core))
        case AppCodes.drawPath: self.codes.draw(body)
        case AppCodes.readPath: await self.codes.read(body)
        default: AppAssets.file(at: head.path).map(Self.answer) ?? DoorAnswer(.notFound)
        }
    }

    private static func answer(_ file: AppAssets.File) -> DoorAnswer {
        var answer = DoorAnswer(.ok, file.bytes)
        answer.type = file.type
        return answer
    }

    private func begin(_ body: [UInt8]) -> DoorAnswer {
        guard case .object(let members) = JSONText(body), let token = members.string("token"),
            let secrets = self.sessions.begin(with: token)
        else { return DoorAnswer(.unauthorized) }
        var json = JSONWriter()
        json.add("key", secrets.key)
        json.add("proof", secrets.proof)
        var answer = DoorAnswer(.ok, json.finished())
        let cookie = "\(Self.cookieName)=\(secrets.cookie); Secure; HttpOnly; SameSite=Strict; Path=/"
        answer.headers = ["set-cookie": cookie]
        return answer
    }

    private func end(_ head: HTTPRequestHead, _ body: [UInt8], _ core: Core) -> DoorAnswer {
        guard case .object(let members) = JSONText(body) else { return DoorAnswer(.badRequest) }
        if members["lock"] == Array("true".utf8) {
            return DoorAnswer(self.seal.lock(core) ? .noContent : .conflict)
        }
        guard let quits = members["quit"] else { return DoorAnswer(.badRequest) }
        if let cookie = Self.cookie(of: head.headers) { self.sessions.end(cookie: cookie) }
        if quits == Array("true".utf8) { self.quit() }
        return DoorAnswer(.noContent)
    }

    private func state(of core: Core) -> [UInt8] {
        let hasServer = self.about.server != nil || core.configuration.server != "\(ServerAddress.local)"
        var json = JSONWriter()
        if core.isWaiting {
            json.add("state", "needsPassphrase")
        } else if self.seal.isLocked {
            json.add("state", "locked")
        } else if core.identity != nil {
            json.add("state", "open")
        } else {
            json.add("state", hasServer ? "noIdentity" : "needsServer")
        }
        json.add("profile", self.about.profile)
        json.add("server", core.configuration.server)
        json.add("version", Core.version)
        json.add("assets", AppAssets.hash)
        json.add("isOlder", self.about.isOlder)
        json.add("seal", AppSeal.kind(of: core).rawValue)
        if self.seal.isLocked { json.add("came", Int64(self.seal.came(core))) }
        json.add("files", object: Core.fileBounds) { bounds, json in
            json.add("image", bounds.image)
            json.add("audio", bounds.audio)
            json.add("file", bounds.file)
            json.add("unasked", bounds.unasked)
        }
        return json.finished()
    }

    // MARK: Events

    func allows(consumer: String) -> Bool { consumer == Self.consumer }

    /// The page goes on after its stream was lost only if this comes again: somebody else may listen at the port by then.
    func streamHeaders(of head: HTTPRequestHead) -> HTTPHeaders {
        guard let cookie = Self.cookie(of: head.headers), let proof = self.sessions.proof(of: cookie) else {
            return [:]
        }
        return ["whisper-proof": proof]
    }

    func streamBegan() { _ = self.countStream() }

    private func countStream() -> Int {
        self.streams.withLock { count in
            count += 1
            return count
        }
    }

    /// A closed window piles up no events: the store has everything.
    func streamEnded(for consumer: String, of core: Core) {
        let number = self.countStream()
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.eventsKeptFor) { [weak self] in
            guard let self, self.streams.withLock({ $0 }) == number, core.seat(of: consumer) == nil else { return }
            Task { await core.forget(consumer) }
        }
        // Nobody is here who could be asked: the page of a closed window keeps no time.
        guard let minutes = core.hostValue("lock").flatMap({ Int($0) }), Self.lockMinutes.contains(minutes) else {
            return
        }
        // The time of a computer that sleeps counts.
        DispatchQueue.global().asyncAfter(wallDeadline: .now() + .seconds(minutes * 60)) { [weak self] in
            guard let self, self.streams.withLock({ $0 }) == number, core.seat(of: consumer) == nil else { return }
            _ = self.seal.lock(core)
        }
    }
}
