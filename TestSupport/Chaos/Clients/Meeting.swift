import Contract
import LocalStack
import Logging
import TestKit
import WhisperClient

/// A room of two in the crowd. Both are the client core with its engine. Their WebRTC stacks are stand-ins that exchange
/// descriptions. Their connection breaks every few seconds, so that it needs the server again; now and then the guest leaves
/// and comes in again.
actor Meeting {
    private final class Member: Sendable {
        let client: WhisperClient
        let name: String

        init(_ name: String, in folder: String, at server: ServerAddress) throws {
            self.name = name
            let profile = try Profile.create(at: "\(folder)/\(name)", mnemonic: .random(), server: server)
            self.client = try WhisperClient(
                profile: profile, server: NetworkLink(server),
                logger: Logger(label: name) { _ in SwiftLogNoOpLogHandler() })
        }
    }

    /// One end of a connection.
    private struct End {
        var peer: PrincipalID
        var number: Int
        /// Names the other end.
        var remote: String?
        var isUp = false
    }

    let ledger: SeatLedger
    private let name: String
    private let members: [Member]
    private let wish: RoomWish
    private let folder: TemporaryFolder
    /// The guest comes by code, and by link otherwise.
    private let usesCode: Bool
    private var ends: [Int: End] = [:]
    private var isOpen = true
    /// The guest is on its way out and in.
    private var isReturning = false
    private var running: [Task<Void, Never>] = []

    private static let host = 0, guest = 1
    /// How long a connection lasts, and after how many of them the guest leaves.
    private static let connectionLength = Duration.seconds(4)
    private static let connectionsPerVisit = 3
    private static let again = Duration.milliseconds(300)
    private static let look = Duration.milliseconds(100)
    private static let beginningMax = Duration.seconds(30)

    private init(_ number: Int, at server: ServerAddress, _ ledger: SeatLedger) throws {
        self.name = "meeting \(number)"
        self.ledger = ledger
        self.folder = try TemporaryFolder(named: "meeting")
        let path = self.folder.path
        self.members = try ["host", "guest"].map { try Member($0, in: path, at: server) }
        self.usesCode = number % 2 == 1
        self.wish = RoomWish(secret: .random())
    }

    /// Both are in the room.
    static func begin(_ number: Int, at server: ServerAddress, _ ledger: SeatLedger) async throws -> Meeting {
        let meeting = try Meeting(number, at: server, ledger)
        try await meeting.begin()
        return meeting
    }

    private func begin() async throws {
        for (number, member) in self.members.enumerated() {
            let (events, client) = (await member.client.events(), member.client)
            self.running.append(Task { _ = await client.run() })
            self.running.append(
                Task { [weak self] in
                    for await event in events {
                        if case .room(let room, let news) = event { await self?.member(number, heard: news, of: room) }
                    }
                })
        }
        try await waitUntil("\(self.name) is connected", within: Self.beginningMax, every: Self.look) {
            for member in self.members where await !member.client.isOnline { return false }
            return true
        }
        try await self.members[Self.host].client.with { _ = try await $0.rooms.create(self.wish, $0) }
        let key = try await self.key()
        try await self.members[Self.guest].client.with { _ = try await $0.rooms.join(by: key, $0) }
    }

    /// By which the guest enters. A code is spent when somebody has entered by it.
    private func key() async throws -> RoomKey {
        guard self.usesCode else { return .link(self.wish.room, self.wish.secret!) }
        let renewed = try await self.members[Self.host].client.with {
            try await $0.rooms.renewCode(RoomCodeWish(), of: self.wish.room, $0)
        }
        guard let code = renewed?.code.flatMap({ JoinCode($0) }) else { throw LiveError.noAnswer }
        return .code(code, pin: nil)
    }

    // MARK: What they do

    /// Until it is cancelled.
    func run() async {
        var connections = 0
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.connectionLength)
            guard !Task.isCancelled, self.isOpen else { return }
            // While nothing is up, the last one is still being replaced.
            guard self.areConnected else { continue }
            connections += 1
            if connections % Self.connectionsPerVisit == 0 {
                await self.leaveAndReturn()
            } else {
                await self.breakConnection()
            }
        }
    }

    private func breakConnection() async {
        let ends = self.ends
        for number in ends.keys { self.ends[number]?.isUp = false }
        for (number, end) in ends { await self.report(.failed, of: end, by: number) }
    }

    private func leaveAndReturn() async {
        let client = self.members[Self.guest].client
        self.isReturning = true
        defer { self.isReturning = false }
        while !Task.isCancelled, (try? await client.with({ try await $0.rooms.leave(self.wish.room, $0) })) == nil {
            try? await Task.sleep(for: Self.again)
        }
        while !Task.isCancelled {
            if let key = try? await self.key(),
                (try? await client.with({ try await $0.rooms.join(by: key, $0) })) != nil
            {
                return
            }
            try? await Task.sleep(for: Self.again)
        }
    }

    // MARK: What they hear

    private func member(_ number: Int, heard news: RoomNews, of room: UUIDText) async {
        let name = "\(self.members[number].name) of \(self.name)"
        guard room == self.wish.room else { return self.ledger.remark("foreign room: \(name) hears of \(room)") }
        switch news {
        case .shown(let view):
            let holders = view.room.participants.map { ($0.seat, "\($0.participant) of \($0.joinedAt.milliseconds)") }
            self.ledger.shown(
                self.name, revision: view.room.revision, Dictionary(holders, uniquingKeysWith: { "\($0) and \($1)" }),
                most: view.room.participantsMax, to: name)
        case .link(let peer, let link, let order): await self.perform(order, of: peer, link, by: number)
        case .forged(let peer): self.ledger.remark("foreign keys: \(name) is given some for \(peer)")
        case .over(let end) where end != .left: self.ledger.remark("room over: for \(name), \(end)")
        case .told, .over, .data, .message, .messageState, .person: break
        }
    }

    // MARK: WebRTC

    private func perform(_ order: LinkOrder, of peer: PrincipalID, _ link: Int, by number: Int) async {
        let own = "\(number).\(link)"
        switch order {
        case .offer:
            let end = End(peer: peer, number: link)
            self.ends[number] = end
            await self.report(.offer("offer \(own)"), of: end, by: number)
        case .accept(let sdp, _):
            self.ledger.takes("\(sdp) at \(own)", by: "\(self.name), \(number)")
            let end = End(peer: peer, number: link, remote: String(sdp.dropFirst("offer ".count)))
            self.ends[number] = end
            await self.report(.answer("answer \(own)"), of: end, by: number)
        case .answer(let sdp):
            self.ledger.takes("\(sdp) at \(own)", by: "\(self.name), \(number)")
            guard self.ends[number]?.number == link else { return }
            self.ends[number]?.remote = String(sdp.dropFirst("answer ".count))
            await self.connect()
        case .candidate: break
        case .drop:
            guard self.ends[number]?.number == link else { return }
            self.ends[number] = nil
            let other = 1 - number
            guard let end = self.ends[other], end.isUp else { return }
            self.ends[other]?.isUp = false
            await self.report(.failed, of: end, by: other)
        }
    }

    /// An answer to an offer of before brings up nothing.
    private func connect() async {
        guard let one = self.ends[Self.host], let other = self.ends[Self.guest],
            one.remote == "\(Self.guest).\(other.number)", other.remote == "\(Self.host).\(one.number)"
        else { return }
        for (number, end) in [(Self.host, one), (Self.guest, other)] where !end.isUp {
            self.ends[number]?.isUp = true
            await self.report(.connected, of: end, by: number)
        }
        self.ledger.connected()
    }

    private func report(_ report: LinkReport, of end: End, by number: Int) async {
        await self.members[number].client.with {
            $0.rooms.report(report, of: end.peer, number: end.number, in: self.wish.room, $0)
        }
    }

    private var areConnected: Bool { self.ends.count == 2 && self.ends.values.allSatisfy(\.isUp) }

    // MARK: The end

    func stopBreaking() { self.isOpen = false }

    /// Both are there, and content can be exchanged.
    var isSettled: Bool {
        get async {
            guard self.areConnected, !self.isReturning else { return false }
            var revisions: Set<Int64> = []
            for member in self.members {
                guard let view = await member.client.with({ $0.rooms[self.wish.room] }), view.linked.count == 1 else {
                    return false
                }
                revisions.insert(view.room.revision)
            }
            return revisions.count == 1
        }
    }

    /// For whoever has to find out why.
    var openWork: String {
        get async {
            var views: [String] = []
            for member in self.members {
                let view = await member.client.with({ $0.rooms[self.wish.room] })
                views.append(
                    "\(member.name) sees revision \(view?.room.revision ?? 0), linked \(view?.linked.count ?? 0)")
            }
            return "\(self.name): connected \(self.areConnected), returning \(self.isReturning); "
                + views.joined(separator: "; ")
        }
    }

    func end() async {
        for member in self.members { await member.client.close() }
        for task in self.running { task.cancel() }
        for task in self.running { await task.value }
        self.running = []
        self.folder.remove()
    }
}
