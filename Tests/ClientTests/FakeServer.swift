import Contract
import Foundation
import Synchronization
import TestKit

@testable import WhisperClient

/// A server in memory, with faults to order: enough of the contract for the engine to be tried without sockets.
final class FakeServer: ServerLink {
    struct Faults {
        /// Nobody answers.
        var isAway = false
        /// The next messages of clients are accepted, but the answer is lost with the connection.
        var losesAcceptances = 0
        /// Errors for the next messages, instead of accepting them.
        var refusals: [(code: String, retryAfterMs: Int?)] = []
        /// Live deliveries are not made; mail waits for `fetch_pending`.
        var holdsMail = false
        /// Receipts are lost: mail stays, and comes again with every page.
        var losesReceipts = false
        /// Bytes that clients are asked to sign at login.
        var challenge = Array("whisper-register".utf8) + Sodium.random(16)
        /// Bytes that clients are asked to sign when they leave.
        var erasureChallenge = AccountDeleteChallenge.prefix + Sodium.random(16)
        /// Keys given out in place of the true ones.
        var falseKeys: [String: PublicKeys] = [:]
        /// Backups are written, but the answer is lost.
        var losesBackupAnswers = 0
        var pageSize = 2
        /// Takes the place of what messages point to.
        var falseAttachment: String?
        /// Before each frame it comes with each of its numbers at each of these.
        var numbers: [Int64] = []
        /// Everybody has this class of rates.
        var rateClass: String?
        /// Everybody is banned, for so many milliseconds if a number is given.
        var ban: (isBanned: Bool, leftMs: Int64?) = (false, nil)
        /// Members for whom copies of group mail are refused.
        var refusesCopiesTo: Set<String> = []
        /// Somebody whom the server lists as a member of each group that changes, or has listed and lists no more.
        var ghost: String?
        var formerGhost: String?
        /// Signatures of groups are not handed on.
        var stripsSignatures = false
    }

    /// The fields of a client's frame that the tests use.
    struct Frame: Decodable {
        struct Payload: Decodable {
            var sessionToken: String?
            var messageId: String?
            var from: String?
            var to: String?
            var timestamp: Int64?
            var nonce: String?
            var ciphertext: String?
            var sig: String?
            var msgType: String?
            var status: String?
            var whisperId: String?
            var cursor: String?
            var signature: String?
            var client: String?
            var deviceId: String?
            var signPublicKey: String?
            var encPublicKey: String?
            var groupId: String?
            var title: String?
            var memberIds: [String]?
            var addMembers: [String]?
            var removeMembers: [String]?
            var actorSig: String?

            /// The JSON fields of a signed change that the server forwards.
            var signed: String {
                guard let actorSig, let timestamp else { return "" }
                func list(_ ids: [String]?) -> String { (ids ?? []).map { #""\#($0)""# }.joined(separator: ",") }
                let title = self.title.map { #","title":"\#($0)""# } ?? ""
                return
                    #","actorSig":"\#(actorSig)","timestamp":\#(timestamp),"change":{"add":[\#(list(self.memberIds ?? self.addMembers))],"remove":[\#(list(self.removeMembers))],"roles":[]\#(title)}"#
            }
        }
        var type: String
        var requestId: String?
        var payload: Payload
    }

    /// A group, its owner first.
    struct FakeGroup {
        var id: String
        var title: String
        var members: [String]
        var revision = 1

        var json: String {
            let members = self.members.enumerated().map { place, id in
                #"{"whisperId":"\#(id)","role":"\#(place == 0 ? "owner" : "member")","joinedAt":\#(place + 1)}"#
            }
            return
                #"{"groupId":"\#(self.id)","title":"\#(self.title)","ownerId":"\#(self.members.first ?? "WSP-AAAA-AAAA-AAAA")","createdAt":1,"updatedAt":2,"revision":\#(self.revision),"members":[\#(members.joined(separator: ","))]}"#
        }
    }

    struct State {
        var groups: [String: FakeGroup] = [:]
        /// The latest event of each group for people who are away.
        var waitingGroupEvents: [String: [String: String]] = [:]
        var faults = Faults()
        /// Attachments of messages, as they came.
        var attachments: [String] = []
        var keys: [String: PublicKeys] = [:]
        var tokens: [String: String] = [:]
        var links: [String: Link] = [:]
        var mail: [String: [[String: String]]] = [:]
        var accepted: [String] = []
        var times: [Int64] = []
        var seen: [String] = []
        /// Kinds of clients, as each frame of a login has named them.
        var kinds: [String?] = []
        var devices: [String?] = []
        var receipts: [String] = []
        var logins = 0
        var keyQuestions = 0
        var backups: [String: [UInt8]] = [:]
        var isExportRefused = false
        var onExport: (@Sendable () -> Void)?
        /// The status that answers an invitation; 200 gives one out.
        var invitationStatus = 200
        var revokedInvitations: [String] = []
        /// Grows with each backup that is written: the latest is everybody's `ETag`.
        var backupsWritten = 0
        /// Frames as they came, by their type (`FakeSignals.swift`).
        var frames: [String: [JSON]] = [:]
        /// Refusals of frames, by their type: one each.
        var signalRefusals: [String: String] = [:]
        /// Receipts for people who are away.
        var waitingReceipts: [String: [String]] = [:]
    }

    let state = Mutex(State())
    let rooms = FakeRooms()
    let live = FakeLive()
    let objects = FakeObjects()

    /// Message ids in the order accepted, without repetitions.
    var accepted: [String] { self.state.withLock { $0.accepted } }
    /// With which each attempt to send a message was signed.
    var times: [Int64] { self.state.withLock { $0.times } }
    /// Types of all frames.
    var seen: [String] { self.state.withLock { $0.seen } }
    var kinds: [String?] { self.state.withLock { $0.kinds } }
    var devices: [String?] { self.state.withLock { $0.devices } }
    /// `status messageId`, as they came.
    var receipts: [String] { self.state.withLock { $0.receipts } }
    /// Questions for somebody's keys.
    var keyQuestions: Int { self.state.withLock { $0.keyQuestions } }
    var logins: Int { self.state.withLock { $0.logins } }
    var backupsWritten: Int { self.state.withLock { $0.backupsWritten } }
    /// The body of the last `PUT`.
    func backup(of id: WhisperID) -> [UInt8]? { self.state.withLock { $0.backups["\(id)"] } }
    /// Another device writes, or an operator loses what there was.
    func setBackup(_ body: [UInt8]?, of id: WhisperID) {
        self.state.withLock { state in
            state.backups["\(id)"] = body
            state.backupsWritten += 1
        }
    }
    func waiting(for id: WhisperID) -> Int { self.state.withLock { $0.mail["\(id)"]?.count ?? 0 } }

    private var rateClass: String {
        self.state.withLock { $0.faults.rateClass }.map { #","rateClass":"\#($0)""# } ?? ""
    }

    func set(_ change: (inout Faults) -> Void) { self.state.withLock { change(&$0.faults) } }

    /// Breaks every connection.
    func breakConnections(code: UInt16? = nil, reason: String = "") {
        for link in self.state.withLock({ $0.links.values.map { $0 } }) { link.end(code, reason) }
    }

    /// The types of all messages accepted.
    var messageTypes: Set<String> {
        self.state.withLock { Set(($0.frames["message_received"] ?? []).compactMap { $0["msgType"]?.string }) }
    }

    /// Takes messages again whose ids it has seen.
    func forgetAccepted() { self.state.withLock { $0.accepted = [] } }

    func forgetSessions() { self.state.withLock { $0.tokens = [:] } }

    /// Puts a message into somebody's mailbox and delivers it if they are there.
    /// - Parameter msgType: what the server says of it. The signature does not cover it.
    func deliver(_ message: SealedMessage, msgType: String = "text", attachment: String? = nil) {
        var fields = [
            "messageId": message.messageID, "from": message.from, "to": message.to,
            "timestamp": "\(message.timestamp)", "nonce": message.nonce, "ciphertext": message.ciphertext,
            "sig": message.signature, "msgType": msgType,
        ]
        fields["groupId"] = message.groupID
        self.accept(fields, attachment: attachment)
    }

    func enroll(_ keys: PublicKeys) -> WhisperID {
        let id = keys.id(counter: 0)
        self.state.withLock { $0.keys["\(id)"] = keys }
        return id
    }

    // MARK: ServerLink

    func open() async throws(LinkError) -> any OpenLink {
        guard !self.state.withLock({ $0.faults.isAway }) else { throw .unreachable("nobody listens") }
        return Link(server: self)
    }

    let profiles = FakeProfiles()

    /// - Returns: `nil` for a path of something else.
    private func profileAnswer(
        _ method: String, _ path: String, _ body: [UInt8] = [], if condition: WriteCondition? = nil, bearer: String?
    ) -> HTTPAnswer? {
        let parts = path.split(separator: "/").map(String.init)
        guard parts.first == "profiles" else { return nil }
        guard let caller = self.state.withLock({ $0.tokens[bearer ?? ""] }) else {
            return HTTPAnswer(status: 401, body: [])
        }
        let (answer, news, others) = self.profiles.answer(
            method, Array(parts.dropFirst()), body, if: condition, of: caller)
        if let news {
            for link in self.state.withLock({ state in others.compactMap { state.links[$0] } }) {
                link.answer("profile_changed", news)
            }
        }
        return answer
    }

    func get(_ path: String, bearer: String) async throws(LinkError) -> HTTPAnswer {
        if let answer = self.profileAnswer("GET", path, bearer: bearer) { return answer }
        if path.hasPrefix("/attachments/") { return self.objects.presignDownload(path) }
        let id = path.split(separator: "/")[1]
        return self.state.withLock { state in
            guard let caller = state.tokens[bearer] else { return HTTPAnswer(status: 401, body: []) }
            if path == "/account/export" {
                state.onExport?()
                guard !state.isExportRefused else { return HTTPAnswer(status: 429, body: []) }
                return HTTPAnswer(status: 200, body: Array(#"{"whisperId":"\#(caller)"}"#.utf8))
            }
            if path == SealedContacts.path {
                guard let backup = state.backups[caller] else { return HTTPAnswer(status: 404, body: []) }
                return HTTPAnswer(status: 200, body: backup, entityTag: "\"\(state.backupsWritten)\"")
            }
            state.keyQuestions += 1
            guard let keys = state.faults.falseKeys[String(id)] ?? state.keys[String(id)] else {
                return HTTPAnswer(status: 404, body: [])
            }
            let body = """
                {"whisperId":"\(id)","encPublicKey":"\(base64(keys.box.bytes))","signPublicKey":"\(base64(keys.sign.bytes))","status":"active"}
                """
            return HTTPAnswer(status: 200, body: Array(body.utf8))
        }
    }

    func put(
        _ path: String, _ body: [UInt8], if condition: WriteCondition?, bearer: String
    ) async throws(LinkError) -> HTTPAnswer {
        if let answer = self.profileAnswer("PUT", path, body, if: condition, bearer: bearer) { return answer }
        let answer = self.state.withLock { state -> HTTPAnswer? in
            guard let caller = state.tokens[bearer] else { return HTTPAnswer(status: 401, body: []) }
            if let condition, state.backups[caller] == nil || condition != .matches("\"\(state.backupsWritten)\"") {
                return HTTPAnswer(status: 412, body: [])
            }
            state.backups[caller] = body
            state.backupsWritten += 1
            guard state.faults.losesBackupAnswers == 0 else {
                state.faults.losesBackupAnswers -= 1
                return nil
            }
            return HTTPAnswer(status: 200, body: [], entityTag: "\"\(state.backupsWritten)\"")
        }
        guard let answer else { throw .timeout }
        return answer
    }

    func post(_ path: String, _ body: [UInt8], bearer: String?) async throws(LinkError) -> HTTPAnswer {
        if let answer = self.profileAnswer("POST", path, body, bearer: bearer) { return answer }
        if path == "/attachments/presign" { return self.objects.presign(body) }
        if path.hasPrefix("/invitations") { return self.invitationAnswer(path, body, bearer: bearer) }
        return HTTPAnswer(status: 404, body: [])
    }

    private func invitationAnswer(_ path: String, _ body: [UInt8], bearer: String?) -> HTTPAnswer {
        self.state.withLock { state in
            guard let bearer, state.tokens[bearer] != nil else { return HTTPAnswer(status: 401, body: []) }
            let fields = try? JSON(parsing: body)
            guard fields?["protocolVersion"]?.integer == 1, fields?["cryptoVersion"]?.integer == 1 else {
                return HTTPAnswer(status: 400, body: [])
            }
            if path == "/invitations/revoke" {
                state.revokedInvitations.append(fields?["token"]?.string ?? "")
                return HTTPAnswer(status: 200, body: Array(#"{"success":true}"#.utf8))
            }
            let life = fields?["expiresInSeconds"]?.integer ?? 604_800
            return HTTPAnswer(
                status: state.invitationStatus,
                body: Array(#"{"token":"AAECAwQFBgcICQoLDA0ODw","expiresAt":\#(life)}"#.utf8))
        }
    }

    func delete(_ path: String, bearer: String) async throws(LinkError) -> HTTPAnswer {
        if let answer = self.profileAnswer("DELETE", path, bearer: bearer) { return answer }
        return self.state.withLock { state in
            guard let caller = state.tokens[bearer], path == SealedContacts.path else {
                return HTTPAnswer(status: 404, body: [])
            }
            state.backups[caller] = nil
            return HTTPAnswer(status: 200, body: [])
        }
    }

    final class Link: OpenLink {
        let events: AsyncStream<LinkEvent>
        private let continuation: AsyncStream<LinkEvent>.Continuation
        private let server: FakeServer

        init(server: FakeServer) {
            (self.events, self.continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(10_000))
            self.server = server
        }

        func send(_ text: [UInt8]) {
            self.server.note(text)
            self.server.take(try! JSONDecoder().decode(Frame.self, from: Data(text)), text, from: self)
        }
        func close() { self.end(nil, "") }

        func end(_ code: UInt16?, _ reason: String) {
            self.server.gone(self)
            self.continuation.yield(.closed(code: code, reason: reason))
            self.continuation.finish()
        }

        func answer(_ type: String, _ payload: String, _ requestID: String? = nil) {
            let id = requestID.map { #","requestId":"\#($0)""# } ?? ""
            for hostile in self.server.hostile(payload) {
                self.continuation.yield(.text(Array(#"{"type":"\#(type)"\#(id),"payload":\#(hostile)}"#.utf8)))
            }
            self.continuation.yield(.text(Array(#"{"type":"\#(type)"\#(id),"payload":\#(payload)}"#.utf8)))
        }
    }

    private func gone(_ link: Link) {
        self.state.withLock { state in
            for (id, other) in state.links where other === link { state.links[id] = nil }
        }
    }

    private func take(_ frame: Frame, _ text: [UInt8], from link: Link) {
        let payload = frame.payload
        self.state.withLock { state in
            state.seen.append(frame.type)
            if frame.type.hasPrefix("register_") {
                state.kinds.append(payload.client)
                state.devices.append(payload.deviceId)
            }
        }
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let ban = self.state.withLock { $0.faults.ban }
        let isAsked = frame.type == "ping" || frame.type == "register_begin" && payload.whisperId == nil
        if ban.isBanned, !isAsked {
            // The end is told to whoever proves the keys.
            let left = frame.type == "register_proof" ? ban.leftMs.map { #","retryAfterMs":\#($0)"# } ?? "" : ""
            link.answer("error", #"{"code":"USER_BANNED","message":"banned"\#(left)}"#, frame.requestId)
            return link.end(4003, "")
        }
        switch frame.type {
        case "ping": link.answer("pong", #"{"timestamp":\#(payload.timestamp!),"serverTime":\#(now)}"#, frame.requestId)
        case "register_begin":
            let challenge = base64(self.state.withLock { $0.faults.challenge })
            link.answer(
                "register_challenge",
                #"{"challengeId":"\#(UUIDText.random())","challenge":"\#(challenge)","expiresAt":\#(now + 60_000)}"#,
                frame.requestId)
        case "register_proof":
            let keys = PublicKeys(
                sign: Bytes32(Base64.decode(payload.signPublicKey!)!)!,
                box: Bytes32(Base64.decode(payload.encPublicKey!)!)!)
            let challenge = self.state.withLock { $0.faults.challenge }
            precondition(Sodium.verify(Base64.decode(payload.signature!)!, of: challenge, publicKey: keys.sign.bytes))
            let id = self.enroll(keys)
            let token = base64(Sodium.random(30))
            self.state.withLock { state in
                state.tokens[token] = "\(id)"
                state.logins += 1
            }
            self.bind(link, "\(id)")
            link.answer(
                "register_ack",
                """
                {"success":true,"whisperId":"\(id)","sessionToken":"\(token)","sessionExpiresAt":\(now + 604_800_000),"serverTime":\(now)\(self.rateClass)}
                """, frame.requestId)
        default:
            guard let id = self.state.withLock({ $0.tokens[payload.sessionToken ?? ""] }) else {
                return link.answer("error", #"{"code":"NOT_REGISTERED","message":"no session"}"#, frame.requestId)
            }
            self.bind(link, id)
            if frame.type.hasPrefix("room_"), let member = WhisperID(id) {
                return self.rooms.take(text, of: member, from: link) { id in self.state.withLock { $0.links["\(id)"] } }
            }
            if FakeLive.types.contains(frame.type), let device = WhisperID(id) {
                return self.live.take(text, of: device, from: link)
            }
            self.take(frame, text, of: id, from: link)
        }
    }

    /// The message's attachment, as JSON.
    private static func attachment(_ frame: [UInt8]) -> String? {
        (try? JSON(parsing: frame))?["payload"]?["attachment"]?.text
    }

    private func bind(_ link: Link, _ id: String) {
        let receipts = self.state.withLock { state in
            state.links[id] = link
            return state.waitingReceipts.removeValue(forKey: id) ?? []
        }
        for receipt in receipts { link.answer("message_delivered", receipt) }
        let events = self.state.withLock { $0.waitingGroupEvents.removeValue(forKey: id) ?? [:] }
        for event in events.values { link.answer("group_event", event) }
    }

    private func take(_ frame: Frame, _ text: [UInt8], of id: String, from link: Link) {
        let payload = frame.payload
        switch frame.type {
        case "send_message":
            self.state.withLock { $0.times.append(payload.timestamp!) }
            if let refusal = self.state.withLock({ $0.faults.refusals.isEmpty ? nil : $0.faults.refusals.removeFirst() }
            ) {
                let after = refusal.retryAfterMs.map { #","retryAfterMs":\#($0)"# } ?? ""
                return link.answer("error", #"{"code":"\#(refusal.code)","message":"no"\#(after)}"#, frame.requestId)
            }
            self.accept(
                [
                    "messageId": payload.messageId!, "from": payload.from!, "to": payload.to!,
                    "timestamp": "\(payload.timestamp!)", "nonce": payload.nonce!, "ciphertext": payload.ciphertext!,
                    "sig": payload.sig!, "msgType": payload.msgType!,
                ], attachment: Self.attachment(text))
            let isLost = self.state.withLock { state in
                guard state.faults.losesAcceptances > 0 else { return false }
                state.faults.losesAcceptances -= 1
                return true
            }
            if isLost { return link.end(nil, "") }
            link.answer("message_accepted", #"{"messageId":"\#(payload.messageId!)","status":"sent"}"#, frame.requestId)
        case "group_send_message":
            let isRefused = self.state.withLock { state in
                let members = state.groups[payload.groupId!]?.members ?? []
                return !members.contains(id) || !members.contains(payload.to!)
                    || state.faults.refusesCopiesTo.contains(payload.to!)
            }
            guard !isRefused else {
                return link.answer("error", #"{"code":"FORBIDDEN","message":"no"}"#, frame.requestId)
            }
            self.accept(
                [
                    "messageId": payload.messageId!, "from": payload.from!, "to": payload.to!,
                    "timestamp": "\(payload.timestamp!)", "nonce": payload.nonce!, "ciphertext": payload.ciphertext!,
                    "sig": payload.sig!, "msgType": payload.msgType!, "groupId": payload.groupId!,
                ], attachment: Self.attachment(text))
            link.answer(
                "message_accepted",
                #"{"messageId":"\#(payload.messageId!)","status":"sent","to":"\#(payload.to!)"}"#, frame.requestId)
        case "group_create":
            let group = FakeGroup(
                id: "grp-\(UUIDText.random())", title: payload.title!, members: [id] + payload.memberIds!)
            self.tell(group, by: id, added: payload.memberIds!, removed: [], "created", frame)
        case "group_update":
            let (added, removed) = (payload.addMembers ?? [], payload.removeMembers ?? [])
            guard var group = self.state.withLock({ $0.groups[payload.groupId!] }) else {
                return link.answer("error", #"{"code":"NOT_FOUND","message":"no"}"#, frame.requestId)
            }
            guard group.members.first == id || group.members.contains(id) && removed == [id] else {
                return link.answer("error", #"{"code":"FORBIDDEN","message":"no"}"#, frame.requestId)
            }
            group.title = payload.title ?? group.title
            group.members = group.members.filter { !removed.contains($0) } + added
            group.revision += 1
            self.tell(group, by: id, added: added, removed: removed, "updated", frame)
        case "group_list":
            let groups = self.state.withLock { state in
                state.groups.values.filter { $0.members.contains(id) }.map(\.json)
            }
            link.answer("groups", #"{"groups":[\#(groups.joined(separator: ","))]}"#, frame.requestId)
        case "delivery_receipt":
            let receipt = """
                {"messageId":"\(payload.messageId!)","status":"\(payload.status!)","timestamp":1,"from":"\(id)"}
                """
            let sender = self.state.withLock { state -> Link? in
                state.receipts.append("\(payload.status!) \(payload.messageId!)")
                guard !state.faults.losesReceipts else { return nil }
                state.mail[id]?.removeAll { $0["messageId"] == payload.messageId }
                if state.links[payload.to!] == nil { state.waitingReceipts[payload.to!, default: []].append(receipt) }
                return state.links[payload.to!]
            }
            sender?.answer("message_delivered", receipt)
        case "fetch_pending":
            let (page, next) = self.state.withLock { state in
                let mail = (state.mail[id] ?? []).drop { Int($0["number"]!)! <= Int(payload.cursor ?? "0")! }
                let page = mail.prefix(state.faults.pageSize)
                return (page.map { Self.text($0) }, mail.count > page.count ? page.last!["number"] : nil)
            }
            let cursor = next.map { #","nextCursor":"\#($0)""# } ?? ""
            link.answer(
                "pending_messages", #"{"messages":[\#(page.joined(separator: ","))]\#(cursor)}"#, frame.requestId)
        default: self.takeSignal(frame, of: id, from: link)
        }
    }

    /// Forgets a group's events and its members' mail about it: as if another device had been told.
    func forgetGroupEvents() { self.state.withLock { $0.waitingGroupEvents = [:] } }

    private func tell(
        _ group: FakeGroup, by actor: String, added: [String], removed: [String], _ event: String, _ frame: Frame
    ) {
        func list(_ ids: [String]) -> String { ids.map { #""\#($0)""# }.joined(separator: ",") }
        var group = group
        let ghosts = self.state.withLock { ($0.faults.ghost, $0.faults.formerGhost) }
        group.members.removeAll { $0 == ghosts.0 || $0 == ghosts.1 }
        if let ghost = ghosts.0 { group.members.append(ghost) }
        let payload =
            #"{"event":"\#(event)","group":\#(group.json),"actor":"\#(actor)","added":[\#(list(added))],"removed":[\#(list(removed))]\#(self.state.withLock { $0.faults.stripsSignatures } ? "" : frame.payload.signed)}"#
        let people = Set(group.members + removed + [actor])
        let links = self.state.withLock { state -> [(String, Link?)] in
            state.groups[group.id] = group
            for id in people where state.links[id] == nil {
                state.waitingGroupEvents[id, default: [:]][group.id] = payload
            }
            return people.map { ($0, state.links[$0]) }
        }
        for (id, link) in links { link?.answer("group_event", payload, id == actor ? frame.requestId : nil) }
    }

    private func accept(_ message: [String: String], attachment: String? = nil) {
        let attachment = attachment.map { given in
            self.state.withLock { state in
                state.attachments.append(given)
                return state.faults.falseAttachment ?? given
            }
        }
        let recipient = self.state.withLock { state -> Link? in
            let id = message["messageId"]! + (message["groupId"] == nil ? "" : " \(message["to"]!)")
            guard !state.accepted.contains(id) else { return nil }
            state.accepted.append(id)
            var message = message
            message["attachment"] = attachment
            message["number"] = "\(state.accepted.count)"
            state.mail[message["to"]!, default: []].append(message)
            if let json = try? JSON(parsing: Array(Self.text(message).utf8)) {
                state.frames["message_received", default: []].append(json)
            }
            return state.faults.holdsMail ? nil : state.links[message["to"]!]
        }
        var message = message
        message["attachment"] = attachment
        recipient?.answer("message_received", Self.text(message))
    }

    private static func text(_ message: [String: String]) -> String {
        let fields = message.filter { $0.key != "timestamp" && $0.key != "number" }.map {
            $0.key == "attachment" ? #""attachment":\#($0.value)"# : #""\#($0.key)":"\#($0.value)""#
        }
        return #"{"timestamp":\#(message["timestamp"]!),\#(fields.joined(separator: ","))}"#
    }
}
