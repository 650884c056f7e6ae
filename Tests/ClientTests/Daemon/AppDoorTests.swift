import Contract
import Foundation
import Glibc
import LocalStack
import NIOHTTP1
import PlainSource
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore
@testable import WhisperTerminal

/// The door of `whisper app`, attacked with raw sockets. Each rule of docs/app.md has the request that it alone refuses.
@Suite(.timeLimit(.minutes(20))) struct AppDoorTests {
    let hosts: CoreHosts

    init() throws { self.hosts = try CoreHosts() }

    /// An open door, and somebody who was let in.
    struct World {
        var core: Core
        var door: AppDoor
        var http: DaemonHTTP
        var cookie: String
        var key: String

        var port: Int { self.door.address.port }
        var origin: String { self.door.address.origin }

        /// Headers as the page's browser sends them.
        func headers(isPost: Bool) -> [String] {
            ["Sec-Fetch-Site: same-origin", "Cookie: __Host-session=\(self.cookie)", "Whisper-Key: \(self.key)"]
                + (isPost ? ["Origin: \(self.origin)", "Content-Type: application/json"] : [])
        }
    }

    func world(_ core: Core? = nil, quit: @escaping @Sendable () -> Void = {}) async throws -> World {
        let core = if let core { core } else { try await self.hosts.offline("ann").core }
        core.leaveEventsToSeats()
        return try await self.openDoor(core, quit: quit)
    }

    func openDoor(_ core: Core, quit: @escaping @Sendable () -> Void = {}) async throws -> World {
        let about = AppDoor.About(profile: "ann", server: "ws://127.0.0.1:1", isOlder: false)
        let door = AppDoor(at: AppAddress(label: AppAddress.label(), port: 0), about, quit: quit)
        let http = DaemonHTTP(core, door: door)
        try await http.listen(at: LoopbackAddress(host: "127.0.0.1", port: 0))
        door.listens(at: try #require(http.port))
        let secrets = try #require(door.sessions.begin(with: door.sessions.launch()))
        return World(core: core, door: door, http: http, cookie: secrets.cookie, key: secrets.key)
    }

    func status(
        _ world: World, _ start: String, _ headers: [String], _ body: String = "", hosts: [String]? = nil
    ) async throws -> Int {
        // A stream would not end.
        let text = try await self.exchange(world, start, headers, body, hosts: hosts, until: "\r\n\r\n")
        return try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) }, "\(text)")
    }

    /// The whole of the first answer, or its beginning.
    func exchange(
        _ world: World, _ start: String, _ headers: [String], _ body: String = "", hosts: [String]? = nil,
        until end: String? = nil
    ) async throws -> String {
        let hosts = hosts ?? [world.door.address.authority]
        return try await Blocking.run {
            Result {
                let socket = try LoopbackSocket.connected(world.port)
                defer { Glibc.close(socket.descriptor) }
                socket.send(start, headers + ["Connection: close"], body, hosts: hosts)
                return socket.read(until: end)
            }
        }.get()
    }

    private static let question = #"{"jsonrpc":"2.0","id":1,"method":"identity_show"}"#

    // MARK: Rules

    @Test func thePageIsServedToItsOwnBrowser() async throws {
        let world = try await self.world()
        let page = try await self.exchange(
            world, "GET /", ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"])
        #expect(page.hasPrefix("HTTP/1.1 200") && page.contains("/a/\(AppAssets.hash)/start.js"))
        // The page has nothing of a person in it.
        #expect(!page.contains("WSP-") && !page.contains("ann"))
        #expect(try await self.status(world, "GET /app", world.headers(isPost: false)) == 200)
        #expect(try await self.status(world, "POST /rpc", world.headers(isPost: true), Self.question) == 200)
        await world.http.close()
        await world.core.close()
    }

    func changed(_ headers: [String], _ name: String, _ values: String...) -> [String] {
        headers.filter { !$0.hasPrefix(name + ":") } + values.map { "\(name): \($0)" }
    }

    @Test func namesPathsAndOriginsOfOthersAreRefused() async throws {
        let world = try await self.world()
        let (get, post) = (world.headers(isPost: false), world.headers(isPost: true))
        let (authority, port) = (world.door.address.authority, world.port)
        // 1: a name that was bound anew, another port of ours, two names, none.
        for hosts in [
            ["evil.example:\(port)"], ["localhost:\(port)"], ["127.0.0.1:\(port)"],
            ["w-\(world.door.address.label).localhost"],
            [authority, authority], [authority, "evil.example"], [authority.uppercased()], [],
        ] {
            #expect(try await self.status(world, "GET /app", get, hosts: hosts) == 421, "\(hosts)")
        }
        // 2: paths and methods, and no way to ask for more.
        for (start, status) in [
            ("GET /check", 404), ("GET /a", 404), ("GET //", 404), ("GET /app/", 404),
            ("GET http://\(authority)/app", 404),
            ("OPTIONS /rpc", 405), ("GET /rpc", 405), ("POST /app", 405), ("HEAD /", 405), ("PUT /session", 405),
            ("GET /a/\(AppAssets.hash)/../start.js", 404), ("GET /a/0/start.js", 404),
            ("GET /a/\(AppAssets.hash)/index.html", 404),
            ("PUT /files", 405), ("OPTIONS /files", 405), ("GET /files/", 404),
        ] {
            let answer = try await self.exchange(world, start, get)
            #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(start): \(answer)")
            #expect(!answer.lowercased().contains("access-control"), "\(start)")
        }
        // 3: what another page, or no browser, sends.
        for site in ["cross-site", "same-site", "none"] {
            #expect(
                try await self.status(world, "GET /app", self.changed(get, "Sec-Fetch-Site", site)) == 403, "\(site)")
            #expect(
                try await self.status(world, "POST /rpc", self.changed(post, "Sec-Fetch-Site", site), Self.question)
                    == 403)
        }
        #expect(try await self.status(world, "GET /app", self.changed(get, "Sec-Fetch-Site")) == 403)
        #expect(
            try await self.status(world, "GET /app", self.changed(get, "Sec-Fetch-Site", "same-origin", "none")) == 403)
        for (mode, target) in [
            ("navigate", "iframe"), ("no-cors", "script"), ("cors", "empty"), ("navigate", "object"),
        ] {
            let headers = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: \(mode)", "Sec-Fetch-Dest: \(target)"]
            #expect(try await self.status(world, "GET /", headers) == 403, "\(mode) \(target)")
        }
        // Another page may open the shell alone as a document, and the browser must say so.
        let opened = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
        #expect(try await self.status(world, "GET /a/\(AppAssets.hash)/start.js", opened) == 403)
        #expect(try await self.status(world, "GET /app", get.filter { !$0.hasPrefix("Sec-Fetch") } + opened) == 403)
        #expect(try await self.status(world, "GET /", Array(opened.dropFirst())) == 403)
        // Events of programs are not the page's.
        #expect(try await self.status(world, "GET /events?consumer=bot", get) == 404)
        #expect(try await self.status(world, "POST /rpc?consumer=bot", post, Self.question) == 404)
        // 4: a form or a script of another origin.
        for origin in [
            "http://evil.example", "null", "http://127.0.0.1:\(port)",
            "http://w-\(world.door.address.label).localhost:1", "https://\(authority)",
        ] {
            #expect(
                try await self.status(world, "POST /rpc", self.changed(post, "Origin", origin), Self.question) == 403,
                "\(origin)")
            #expect(try await self.status(world, "GET /app", get + ["Origin: \(origin)"]) == 403, "\(origin)")
            let token = #"{"token":"\#(world.door.sessions.launch())"}"#
            #expect(
                try await self.status(world, "POST /session", self.changed(post, "Origin", origin), token) == 403,
                "\(origin)")
        }
        #expect(try await self.status(world, "POST /rpc", self.changed(post, "Origin"), Self.question) == 403)
        await world.http.close()
        await world.core.close()
    }

    @Test func typesAndSecretsOfOthersAreRefused() async throws {
        let world = try await self.world()
        let (get, post) = (world.headers(isPost: false), world.headers(isPost: true))
        // 5: types that a form can send.
        for type in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8"] {
            #expect(
                try await self.status(world, "POST /rpc", self.changed(post, "Content-Type", type), Self.question)
                    == 415,
                "\(type)")
        }
        #expect(try await self.status(world, "POST /rpc", self.changed(post, "Content-Type"), Self.question) == 415)
        // 6: cookie without key, key without cookie, and those of two sessions.
        let other = try #require(world.door.sessions.begin(with: world.door.sessions.launch()))
        for headers in [
            self.changed(post, "Cookie"), self.changed(post, "Whisper-Key"),
            self.changed(post, "Whisper-Key", other.key),
            self.changed(post, "Cookie", "__Host-session=\(other.cookie)"),
            self.changed(post, "Whisper-Key", world.key, world.key),
            self.changed(post, "Cookie", "__Host-session=\(world.cookie); __Host-session=\(other.cookie)"),
            self.changed(post, "Cookie", "session=\(world.cookie)"),
        ] {
            #expect(try await self.status(world, "POST /rpc", headers, Self.question) == 401, "\(headers)")
        }
        for path in ["/app", "/events?consumer=app"] {
            #expect(try await self.status(world, "GET \(path)", self.changed(get, "Cookie")) == 401, "\(path)")
            #expect(try await self.status(world, "GET \(path)", self.changed(get, "Whisper-Key")) == 401, "\(path)")
        }
        await world.http.close()
        await world.core.close()
    }

    @Test func everyAnswerHasThePolicyAndNoneIsKept() async throws {
        let world = try await self.world()
        let document = ["Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
        for (start, headers) in [
            ("GET /", document), ("GET /app", world.headers(isPost: false)), ("GET /nothing", document),
            ("GET /app", []),
            ("GET /a/\(AppAssets.hash)/start.js", ["Sec-Fetch-Site: same-origin"]),
        ] {
            let answer = try await self.exchange(world, start, headers).lowercased()
            for line in [
                "content-security-policy: \(AppDoor.policy)", "cache-control: no-store",
                "x-content-type-options: nosniff",
                "referrer-policy: no-referrer", "cross-origin-opener-policy: same-origin",
                "cross-origin-embedder-policy: require-corp", "cross-origin-resource-policy: same-origin",
                "permissions-policy: camera=(self), microphone=(self)",
            ] {
                #expect(answer.contains("\r\n" + line), "\(start): \(line)")
            }
        }
        await world.http.close()
        await world.core.close()
    }

    // MARK: Sessions

    @Test func aLaunchTokenOpensOneSessionAndSoon() async throws {
        let sessions = AppSessions()
        let now = ContinuousClock.now
        let token = sessions.launch(at: now)
        #expect(sessions.begin(with: token + "0", at: now) == nil)
        let secrets = try #require(sessions.begin(with: token, at: now))
        #expect(sessions.begin(with: token, at: now) == nil)
        #expect(sessions.isIn(cookie: secrets.cookie, key: secrets.key, at: now))
        let late = sessions.launch(at: now)
        #expect(sessions.begin(with: late, at: now + AppSessions.launchFor) == nil)
        let tokens = (0...AppSessions.launchesMax).map { _ in sessions.launch(at: now) }
        #expect(sessions.begin(with: tokens[0], at: now) == nil)
        #expect(sessions.begin(with: tokens[1], at: now) != nil)
    }

    /// Two commands that start at the same time take the same key.
    @Test func aKeyIsMadeOnce() async throws {
        let folder = try TemporaryFolder()
        let keys = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<16 { group.addTask { try KeyFile.make(in: folder.path + "/profile") } }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(keys == [try KeyFile.make(in: folder.path + "/profile")])
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/profile")
        #expect(names == [Profile.keyName])
    }

    @Test func sessionsEnd() throws {
        let sessions = AppSessions()
        let now = ContinuousClock.now
        func begun(at time: ContinuousClock.Instant) throws -> (cookie: String, key: String, proof: String) {
            try #require(sessions.begin(with: sessions.launch(at: time), at: time))
        }
        let first = try begun(at: now)
        #expect(sessions.isIn(cookie: first.cookie, key: first.key, at: now + AppSessions.idleMax))
        #expect(!sessions.isIn(cookie: first.cookie, key: first.key, at: now + AppSessions.idleMax * 2 + .seconds(1)))
        // It was used all the time, and ends all the same.
        let second = try begun(at: now)
        var time = now
        while time < now + AppSessions.ageMax {
            #expect(sessions.isIn(cookie: second.cookie, key: second.key, at: time))
            time += AppSessions.idleMax
        }
        #expect(sessions.isIn(cookie: second.cookie, key: second.key, at: time))
        #expect(!sessions.isIn(cookie: second.cookie, key: second.key, at: time + .seconds(1)))
        // The one unused longest makes room.
        let many = try (0...AppSessions.sessionsMax).map { try begun(at: now + .seconds($0)) }
        let end = now + .seconds(60)
        #expect(!sessions.isIn(cookie: many[0].cookie, key: many[0].key, at: end))
        #expect(many.dropFirst().allSatisfy { sessions.isIn(cookie: $0.cookie, key: $0.key, at: end) })
        sessions.end(cookie: many[1].cookie)
        #expect(!sessions.isIn(cookie: many[1].cookie, key: many[1].key, at: end))
    }

    @Test func aSessionBeginsOverHTTPAndEndsThere() async throws {
        let hasQuit = AsyncStream.makeStream(of: Void.self)
        let world = try await self.world { hasQuit.continuation.finish() }
        let post = ["Sec-Fetch-Site: same-origin", "Origin: \(world.origin)", "Content-Type: application/json"]
        let token = world.door.sessions.launch()
        let answer = try await self.exchange(world, "POST /session", post, #"{"token":"\#(token)"}"#)
        let cookie = try #require(answer.firstMatch(of: #/set-cookie: (__Host-session=[0-9a-f]{64}); (.*)\r\n/#))
        #expect(cookie.2 == "Secure; HttpOnly; SameSite=Strict; Path=/")
        let key = try #require(answer.firstMatch(of: #/"key":"([0-9a-f]{64})"/#)?.1)
        #expect(try await self.status(world, "POST /session", post, #"{"token":"\#(token)"}"#) == 401)
        let session = post + ["Cookie: \(cookie.1)", "Whisper-Key: \(key)"]
        #expect(try await self.status(world, "POST /rpc", session, Self.question) == 200)
        #expect(try await self.status(world, "POST /session/end", session, #"{"quit":true}"#) == 204)
        #expect(try await self.status(world, "POST /rpc", session, Self.question) == 401)
        for await _ in hasQuit.stream {}
        await world.http.close()
        await world.core.close()
    }

    // MARK: Connections and events

    @Test func aConnectionTakesOneRequestAfterTheOther() async throws {
        let world = try await self.world()
        let text = try await Blocking.run {
            Result { () -> String in
                let socket = try LoopbackSocket.connected(world.port)
                defer { Glibc.close(socket.descriptor) }
                for _ in 0..<2 {
                    socket.send(
                        "POST /rpc", world.headers(isPost: true), Self.question, hosts: [world.door.address.authority])
                }
                return socket.read(until: #""hasIdentity":true"#, times: 2)
            }
        }.get()
        #expect(text.ranges(of: "HTTP/1.1 200").count == 2)
        await world.http.close()
        await world.core.close()
    }

    /// Many connections begin a request and say no more. There is room for few of them, and only as long as a header may take.
    @Test func slowHeadersHoldNoPlaceForLong() async throws {
        let world = try await self.world()
        let starts = try await Blocking.run {
            Result { () -> Set<String> in
                let sockets = try (0..<200).map { _ in try LoopbackSocket.connected(world.port) }
                for socket in sockets {
                    DaemonSession.write(Array("GET /app HTTP/1.1\r\nHost: ".utf8), to: socket.descriptor)
                }
                defer { for socket in sockets { Glibc.close(socket.descriptor) } }
                return Set(sockets.map { String($0.read().prefix(12)) })
            }
        }.get()
        #expect(starts.isSubset(of: ["", "HTTP/1.1 408", "HTTP/1.1 503"]), "\(starts)")
        #expect(try await self.status(world, "GET /app", world.headers(isPost: false)) == 200)
        await world.http.close()
        await world.core.close()
    }

    func opened(_ world: World, _ query: String = "") async throws -> LoopbackSocket {
        try await Blocking.run {
            Result {
                let socket = try LoopbackSocket.connected(world.port)
                socket.send(
                    "GET /events?consumer=app\(query)", world.headers(isPost: false), "",
                    hosts: [world.door.address.authority])
                return socket
            }
        }.get()
    }

    @Test func oneWindowReadsAndAnotherMayTakeItsPlace() async throws {
        let world = try await self.world()
        let first = try await self.opened(world)
        let begun = await Blocking.run { first.read(until: "isKnown") }
        #expect(begun.contains(#""type":"subscribed""#) && begun.contains(#""isKnown":false"#), "\(begun)")
        let second = try await self.opened(world)
        let refused = await Blocking.run { second.read() }
        #expect(refused.hasPrefix("HTTP/1.1 409") && refused.contains("busyReader"), "\(refused)")
        let third = try await self.opened(world, "&take=1")
        #expect(await Blocking.run { third.read(until: "isKnown") }.contains(#""isKnown":true"#))
        #expect(await Blocking.run { first.read(until: "taken") }.contains(#"{"type":"taken"}"#))
        // The stream itself is the lock: a window that has gone holds nothing.
        Glibc.close(third.descriptor)
        let fourth = try await self.opened(world)
        #expect(await Blocking.run { fourth.read(until: "isKnown") }.contains(#""isKnown":true"#))
        for socket in [first, second, fourth] { Glibc.close(socket.descriptor) }
        await world.http.close()
        await world.core.close()
    }

    /// The kernel says whose socket the other end is. Another user gets no byte.
    @Test(.enabled(if: geteuid() == 0)) func anotherUserIsSentAwayWithoutAByte() async throws {
        let world = try await self.world()
        let script = """
            import os, socket, sys
            os.setuid(int(sys.argv[1]))
            end = socket.create_connection(("127.0.0.1", \(world.port)))
            end.settimeout(30)
            try:
                end.sendall(b"GET / HTTP/1.1\\r\\nHost: \(world.door.address.authority)\\r\\nSec-Fetch-Site: none\\r\\n"
                    b"Sec-Fetch-Mode: navigate\\r\\nSec-Fetch-Dest: document\\r\\nConnection: close\\r\\n\\r\\n")
                print(len(end.recv(100)))
            except ConnectionError:
                print(0)
            """
        for (user, isServed) in [(0, true), (65_534, false)] {
            let text = try await Blocking.run {
                Result { try Run("/usr/bin/python3", ["-c", script, "\(user)"], withErrors: false).output }
            }.get()
            #expect(
                Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) == (isServed ? 100 : 0),
                "user \(user): \(text)")
        }
        await world.http.close()
        await world.core.close()
    }

    // MARK: The address

    @Test func anAddressIsKeptUntilItsPortIsTaken() async throws {
        let core = try await self.hosts.offline("ann").core
        core.leaveEventsToSeats()
        let file = self.hosts.folder.path + "/door"
        func opened(_ policy: AppAddress.Policy) async throws -> (host: AppHost, link: String) {
            let about = AppDoor.About(profile: "ann", server: nil, isOlder: false)
            let host = AppHost(core, about, policy, keeping: file, launch: AppLaunch(folder: self.hosts.folder.path)) {}
            return (host, try #require(AppLaunch.link(in: try await host.open())))
        }
        func address(_ link: String) -> String { String(link.prefix { $0 != "#" }) }
        let first = try await opened(.kept)
        #expect(first.link.wholeMatch(of: #/http:\/\/w-[a-z2-7]{20}\.localhost:[0-9]+\/#[0-9a-f]{64}/#) != nil)
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        // While it is taken, the next one is elsewhere, with another name.
        let second = try await opened(.kept)
        #expect(address(second.link) != address(first.link))
        #expect(address(second.link).prefix(29) != address(first.link).prefix(29))
        await first.host.close()
        await second.host.close()
        let third = try await opened(.kept)
        #expect(address(third.link) == address(second.link))
        await third.host.close()
        let fresh = try await opened(.fresh)
        #expect(address(fresh.link) != address(third.link))
        await fresh.host.close()
        await core.close()
    }

    // MARK: The page

    @Test func everyFileOfThePageIsServedAndSmall() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Clients/App/Assets")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(names) == Set(AppAssets.files.keys))
        var sizes: [String: Int] = [:]
        var imports: [String: Set<String>] = [:]
        for (name, file) in AppAssets.files {
            let source = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            let bytes = Array(source.utf8)
            switch name.split(separator: ".").last {
            case "js": #expect(file.bytes == PlainSource.bare(bytes), "\(name)")
            case "css": #expect(file.bytes == PlainSource.bareStyle(bytes), "\(name)")
            default: #expect(file.bytes == bytes, "\(name)")
            }
            for line in source.split(separator: "\n") {
                #expect(line.count { $0 == "`" }.isMultiple(of: 2), "\(name): a text over several lines: \(line)")
            }
            sizes[String(name.split(separator: ".").last ?? ""), default: 0] += file.bytes.count
            for word in [
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "style=",
            ] {
                #expect(!source.contains(word), "\(name): \(word)")
            }
            for match in source.matches(of: #/(from |import\()"([^"]+)"/#) {
                let file = String(match.2.dropFirst(2))
                #expect(AppAssets.files[file] != nil, "\(name): \(file)")
                if match.1 == "from " { imports[name, default: []].insert(file) }
            }
        }
        #expect(sizes["js"]! <= 190 * 1_024 && sizes["css"]! <= 24_000, "\(sizes)")
        // The first screen waits for these, in bytes as the browser gets them.
        var (start, next): (Set<String>, Set<String>) = ([], ["start.js"])
        while let name = next.popFirst() {
            start.insert(name)
            next.formUnion(imports[name, default: []].subtracting(start))
        }
        #expect(start.count > 8 && start.reduce(0) { $0 + AppAssets.files[$1]!.bytes.count } <= 90_000)
    }
}
