import Contract
import Synchronization

@testable import WhisperClient

/// Rooms of a server in memory: seats, codes, links, and signals that are passed on. Each frame is read as the contract has it.
final class FakeRooms: Sendable {
    private struct Room {
        var state: RoomState
        var code: String?
        var verifier: [UInt8]?
        var seats = 1

        mutating func change(
            host: PrincipalID? = nil, participantsMax: Int? = nil, isLocked: Bool? = nil,
            phase: RoomState.Phase? = nil, participants: [RoomParticipant]? = nil
        ) {
            let old = self.state
            self.state = RoomState(
                room: old.room, host: host ?? old.host, participantsMax: participantsMax ?? old.participantsMax,
                isLocked: isLocked ?? old.isLocked, revision: old.revision + 1, phase: phase ?? old.phase,
                expiresAt: old.expiresAt, participants: participants ?? old.participants)
        }
    }

    private static let turn = TurnCredentialsFrame(
        urls: ["turn:127.0.0.1:3478?transport=udp"], username: "1:x", credential: Array(0..<20), ttl: 43_200)
    private static let known = Dictionary(
        uniqueKeysWithValues: FrameCatalogue.all.filter { $0.type.hasPrefix("room_") }.map { ($0.type, $0) })

    private let rooms = Mutex<[UUIDText: Room]>([:])
    /// Comers are told that nobody came by link.
    let deniesLinks = Mutex(false)
    private let heard = Mutex<Set<String>>([])

    /// Types of all frames.
    var types: Set<String> { self.heard.withLock { $0 } }
    static var typesOfClients: Set<String> { Set(Self.known.keys) }

    /// - Parameter link: the connection of somebody.
    func take(
        _ text: [UInt8], of member: WhisperID, from own: FakeServer.Link,
        _ link: (PrincipalID) -> FakeServer.Link?
    ) {
        let envelope = try! FrameDecoder.envelope(of: text)
        let definition = Self.known[envelope.type]!
        _ = self.heard.withLock { $0.insert(envelope.type) }
        // A client whom a hostile clock misleads may send what a gateway refuses.
        guard let payload = try? FrameDecoder.payload(envelope, of: text, schema: definition.schema) else {
            return own.end(1_008, "")
        }
        let said = self.rooms.withLock {
            Self.answer(to: envelope.type, payload, of: .identity(member), &$0)
        }
        for (to, frame) in said.others {
            link(to)?.answer(type(of: frame).definition.type, String(decoding: frame.json, as: UTF8.self))
        }
        switch said.own {
        case .frame(let joined as RoomJoined) where self.deniesLinks.withLock { $0 }:
            let text = String(decoding: joined.json, as: UTF8.self)
                .replacing(#""via":"link""#, with: #""via":"code""#)
                .replacing(#""via":"creator""#, with: #""via":"code""#)
            own.answer(RoomJoined.definition.type, text, envelope.requestID)
        case .frame(let frame):
            own.answer(
                type(of: frame).definition.type, String(decoding: frame.json, as: UTF8.self), envelope.requestID)
        case .refusal(let code):
            own.answer("error", #"{"code":"\#(code)","message":"no"}"#, envelope.requestID)
        case .nothing: break
        }
    }

    private enum Own {
        case frame(any ServerFrame)
        case refusal(String)
        case nothing
    }

    private struct Said {
        var own: Own
        var others: [(PrincipalID, any ServerFrame)] = []
    }

    private static func event(
        _ event: RoomEvent.Event, _ participant: PrincipalID?, _ room: Room, to: [RoomParticipant], but own: PrincipalID
    ) -> [(PrincipalID, any ServerFrame)] {
        let frame = RoomEvent(
            event, participant: participant, by: own, timestamp: Timestamp(milliseconds: 1), room: room.state)
        return to.map(\.participant).filter { $0 != own }.map { ($0, frame) }
    }

    private static func joined(_ room: Room, _ own: PrincipalID) -> Own {
        .frame(
            RoomJoined(
                room: room.state, seat: room.state.participants.first { $0.participant == own }!.seat,
                code: room.state.host == own ? room.code : nil,
                codeExpiresAt: room.state.host == own ? room.code.map { _ in Timestamp(milliseconds: 2) } : nil,
                turn: room.state.participants.count > 1 ? Self.turn : nil))
    }

    private static func answer(
        to type: String, _ payload: Payload, of own: PrincipalID, _ rooms: inout [UUIDText: Room]
    ) -> Said {
        func mine(_ id: UUIDText) -> Room? {
            rooms[id].flatMap { room in room.state.participants.contains { $0.participant == own } ? room : nil }
        }
        switch type {
        case "room_create":
            let frame = try! RoomCreate(payload)
            if let room = rooms[frame.room] {
                return Said(own: room.state.host == own ? Self.joined(room, own) : .refusal("FORBIDDEN"))
            }
            let host = RoomParticipant(
                participant: own, seat: 1, via: .creator, isConnected: true, joinedAt: Timestamp(milliseconds: 1),
                signPublicKey: frame.signPublicKey, encPublicKey: frame.encPublicKey)
            let room = Room(
                state: RoomState(
                    room: frame.room, host: own, participantsMax: frame.participantsMax, isLocked: false, revision: 1,
                    phase: .pending, expiresAt: Timestamp(milliseconds: 3), participants: [host]),
                code: frame.code.wantsCode ? "402917" : nil, verifier: frame.linkVerifier?.bytes)
            rooms[frame.room] = room
            return Said(own: Self.joined(room, own))
        case "room_join":
            let frame = try! RoomJoin(payload)
            let (found, way): (Room?, RoomParticipant.Way) =
                switch frame.key {
                case .code(let code, _):
                    (rooms.values.first { $0.code != nil && $0.code == code?.text }, .code)
                case .room(let id, nil): (mine(id), .code)
                case .room(let id, let proof?):
                    (rooms[id].flatMap { $0.verifier == Sodium.sha256(proof.bytes) ? $0 : nil }, .link)
                }
            guard var room = found else { return Said(own: .refusal("NOT_FOUND")) }
            if mine(room.state.room) != nil { return Said(own: Self.joined(room, own)) }
            guard !room.state.isLocked, room.state.participants.count < room.state.participantsMax else {
                return Said(own: .refusal(way == .link ? "FORBIDDEN" : "NOT_FOUND"))
            }
            room.seats += 1
            let before = room.state.participants
            let new = RoomParticipant(
                participant: own, seat: room.seats, via: way, isConnected: true, joinedAt: Timestamp(milliseconds: 1),
                signPublicKey: frame.signPublicKey, encPublicKey: frame.encPublicKey)
            room.change(phase: .accepted, participants: before + [new])
            rooms[room.state.room] = room
            return Said(own: Self.joined(room, own), others: Self.event(.joined, own, room, to: before, but: own))
        case "room_signal":
            let frame = try! SendRoomSignal(payload)
            guard mine(frame.room) != nil else { return Said(own: .refusal("NOT_FOUND")) }
            let signal = RoomSignal(room: frame.room, kind: frame.kind, to: frame.to, signal: frame.signal)
            return Said(own: .nothing, others: [(frame.to, signal)])
        case "room_list":
            let ids = rooms.keys.sorted { "\($0)" < "\($1)" }
            return Said(own: .frame(Rooms(ids.compactMap { mine($0)?.state })))
        case "room_purge":
            let all = rooms.keys.compactMap { mine($0) }
            var others: [(PrincipalID, any ServerFrame)] = []
            for room in all where room.state.host == own {
                rooms[room.state.room] = nil
                others += Self.event(.closed, nil, room, to: room.state.participants, but: own)
            }
            let closed = all.filter { $0.state.host == own }.count
            return Said(own: .frame(RoomPurged(left: all.count - closed, closed: closed)), others: others)
        default: return Self.change(type, payload, of: own, mine((try? RoomTurn(payload).room)!), &rooms)
        }
    }

    private static func change(
        _ type: String, _ payload: Payload, of own: PrincipalID, _ mine: Room?, _ rooms: inout [UUIDText: Room]
    ) -> Said {
        guard var room = mine else { return Said(own: .refusal("NOT_FOUND")) }
        let (id, before) = (room.state.room, room.state.participants)
        if !["room_turn", "room_leave", "room_poke"].contains(type), room.state.host != own {
            return Said(own: .refusal("FORBIDDEN"))
        }
        switch type {
        case "room_turn": return Said(own: .frame(Self.turn))
        case "room_poke": return Said(own: .frame(RoomPoked(room: id, woken: before.count - 1)))
        case "room_code":
            room.code = "735402"
            rooms[id] = room
            return Said(
                own: .frame(RoomCodeFrame(room: id, code: room.code, codeExpiresAt: Timestamp(milliseconds: 2))))
        case "room_update":
            let frame = try! RoomUpdate(payload)
            room.change(host: frame.host, participantsMax: frame.participantsMax, isLocked: frame.isLocked)
            rooms[id] = room
            let event = RoomEvent(.updated, by: own, timestamp: Timestamp(milliseconds: 1), room: room.state)
            return Said(own: .frame(event), others: Self.event(.updated, nil, room, to: before, but: own))
        case "room_remove":
            let gone = try! RoomRemove(payload).participant
            room.change(participants: before.filter { $0.participant != gone })
            rooms[id] = room
            let event = RoomEvent(
                .removed, participant: gone, by: own, timestamp: Timestamp(milliseconds: 1), room: room.state)
            return Said(own: .frame(event), others: Self.event(.removed, gone, room, to: before, but: own))
        case "room_leave":
            let rest = before.filter { $0.participant != own }
            room.change(host: rest.first?.participant, participants: rest)
            rooms[id] = rest.isEmpty ? nil : room
            return Said(own: .frame(RoomLeft(id)), others: Self.event(.left, own, room, to: before, but: own))
        default:
            room.change(phase: .closed)
            rooms[id] = nil
            return Said(own: .frame(RoomLeft(id)), others: Self.event(.closed, nil, room, to: before, but: own))
        }
    }
}
