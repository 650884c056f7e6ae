import Contract
import ContractSchema

// The chapters about frames. A frame that no chapter names gets into the last one.
extension ProtocolPage {
    /// The number of the first chapter about frames.
    static let firstChapter = 7

    /// The chapter of frames that no other one names. It is a mistake, which tests find.
    package static let titleOfTheRest = "Further frames"

    private struct Chapter {
        let title: String
        let opening: String
        /// Types, in reading order.
        let client: [String]
        let server: [String]
    }

    private static let plan = [
        Chapter(
            title: "Logging in",
            opening: """
                `register_begin` → `register_challenge` → `register_proof` → `register_ack`. An identity is active on one device: a new login
                raises its *epoch*, the older connection gets `error` AUTH_FAILED and close 4001, and nothing of the older session is taken any
                more. A second connection with the same token replaces the first.

                `account_delete_begin` → `account_delete_challenge` → `account_delete` → `account_deleted` erases the identity for good.
                Afterwards its id is NOT_FOUND for everybody, and a proof of its keys is AUTH_FAILED with reason `erased`.
                """,
            client: [
                "register_begin", "register_proof", "session_refresh", "update_tokens", "logout",
                "account_delete_begin",
                "account_delete", "ping",
            ],
            server: [
                "register_challenge", "register_ack", "session_refresh_ack", "tokens_updated", "logout_ack",
                "account_delete_challenge", "account_deleted", "pong",
            ]),
        Chapter(
            title: "Guests",
            opening: """
                A guest is somebody in a browser who has keys and no identity: `guest_begin` → `guest_challenge` → `guest_proof` → `guest_ack`.
                The same keys are the same guest. It has one live token and one connection: a new proof ends the older ones (AUTH_FAILED,
                close 4001). A guest is forgotten \(Limits.guestTTL.components.seconds / 86_400) days after it was last seen, or
                at once by `guest_forget` → `guest_forgotten`.
                """,
            client: ["guest_begin", "guest_proof", "guest_forget"],
            server: ["guest_challenge", "guest_ack", "guest_forgotten"]),
        Chapter(
            title: "Messages",
            opening: """
                A message is stored before it is acknowledged, delivered from the store, and leaves it with the recipient's receipt or after
                \(Limits.pendingTTL.components.seconds / 3_600) h. Whatever is lost on the way comes again; each client knows a message by sender and `messageId`.
                """,
            client: ["send_message", "fetch_pending", "delivery_receipt"],
            server: [
                "message_accepted", "message_received", "pending_messages", "message_delivered", "message_expired",
            ]),
        Chapter(
            title: "Groups",
            opening: """
                A group is a list of members that the server keeps. There is no group key: whoever writes to a group encrypts and signs for
                each member, one frame each.
                """,
            client: ["group_create", "group_update", "group_list", "group_send_message"],
            server: ["group_event", "groups"]),
        Chapter(
            title: "Presence and typing", opening: "Only peers hear of each other. Nothing of this is stored.",
            client: ["typing"], server: ["presence_update", "typing_notification"]),
        Chapter(
            title: "Calls",
            opening: """
                The server carries signed signalling; media goes from device to device, through a relay if need be. Offer, answer and candidates
                travel in `ciphertext`. Whoever is already in a call, ringing included, is busy: the caller gets `call_end`. Whose phone rings
                may call out all the same, and the ringing call goes on. Of two calls that cross, the one with the lower `callId` lives.
                """,
            client: ["call_initiate", "call_answer", "call_ice_candidate", "call_end", "get_turn_credentials"],
            server: [
                "call_incoming", "call_ringing", "call_answer", "call_ice_candidate", "call_end", "turn_credentials",
            ]),
        Chapter(
            title: "Profiles",
            opening: """
                A profile is what the devices of one person share: members, and documents that are sealed with a key that only the devices
                have. Each device is an identity. Profiles are read and written over HTTP.
                """,
            client: [], server: ["profile_changed"]),
        Chapter(
            title: "Live conversations",
            opening: """
                A whisperer types, and its listeners see each keystroke. What is typed is sealed: the server moves it and reads none of it.
                """,
            client: [
                "live_create", "live_update", "live_delete", "live_list", "live_roster", "live_knock", "live_grant",
                "live_refuse", "live_start", "live_stop", "live_join", "live_leave", "live_packet", "live_resync",
                "live_attention",
            ],
            server: [
                "live_conversation", "live_deleted", "live_conversations", "live_roster", "live_waiting",
                "live_knocked", "live_admitted", "live_granted", "live_refused", "live_listener", "live_started",
                "live_stopped", "live_left", "live_joined", "live_state", "live_packet", "live_wanted",
                "live_attention", "live_line_stored",
            ]),
        Chapter(
            title: "Rooms",
            opening: """
                Up to \(RoomLimits.participants.upperBound) participants speak WebRTC with each other. They come in by a code or by a link. The
                server relays sealed signalling and never content.
                """,
            client: [
                "room_create", "room_code", "room_join", "room_signal", "room_update", "room_remove", "room_poke",
                "room_leave", "room_close", "room_list", "room_purge", "room_turn",
            ],
            server: [
                "room_joined", "room_code", "room_event", "room_signal", "room_poked", "room_left", "rooms",
                "room_purged",
            ]),
        Chapter(title: "Reports", opening: "", client: ["report"], server: ["report_ack"]),
        Chapter(title: "Errors", opening: "", client: [], server: ["error"]),
    ]

    static var chapters: [String] {
        let clientTypes = FrameCatalogue.all.map(\.type)
        let serverTypes = ServerFrameCatalogue.all.map(\.type)
        let rest = Chapter(
            title: self.titleOfTheRest, opening: "",
            client: clientTypes.filter { type in !self.plan.contains { $0.client.contains(type) } },
            server: serverTypes.filter { type in !self.plan.contains { $0.server.contains(type) } })
        let chapters = self.plan + (rest.client.isEmpty && rest.server.isEmpty ? [] : [rest])
        return chapters.enumerated().map { number, chapter in
            let client = chapter.client.compactMap { type in FrameCatalogue.all.first { $0.type == type } }
            let server = chapter.server.compactMap { type in ServerFrameCatalogue.all.first { $0.type == type } }
            let parts =
                ["## \(number + self.firstChapter). \(chapter.title)"]
                + (chapter.opening.isEmpty ? [] : [chapter.opening])
                + client.map { self.frame($0) } + server.map { self.frame($0) }
            return parts.joined(separator: "\n\n")
        }
    }

    // MARK: From clients

    private static func frame(_ frame: FrameDefinition) -> String {
        let answers = answers(to: frame.type).map { "`\($0.type)`" }.joined(separator: " or ")
        var facts = ["**Answer:** \(answers.isEmpty ? "none" : answers), or `error`."]
        if let rate = frame.rate {
            facts.append(
                "**Rate:** \(rate.uses) per \(rate.period.rawValue) and \(rate.per.rawValue) (`\(rate.action)`).")
        }
        let parts = [
            "### → `\(frame.type)`", frame.about, self.fields(frame.schema), self.rules(frame.rules),
            facts.joined(separator: " "),
            self.refusals(of: frame),
            self.example(["type": .string(frame.type), "payload": Document(sample: frame.samples[0])]),
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private static func rules(_ rules: [FrameRule]) -> String {
        rules.compactMap { rule in
            switch rule {
            case .differ(let a, let b): "- `\(a)` must not be the same as `\(b)`."
            case .bounded(let name, let bytes, let kind, let word):
                "- `\(name)` stands for at most \(bytes.grouped) bytes when `\(kind)` is `\(word)`."
            case .notBoth(let a, let b): "- `\(a)` and `\(b)` must not stand together."
            case .oneOf(let a, let b): "- Either `\(a)` or `\(b)` stands there."
            case .among(let name, let numbers):
                "- `\(name)` is one of \(numbers.map { "\($0)" }.joined(separator: ", "))."
            case .absent(let name, let kind, let word): "- `\(name)` must not be given when `\(kind)` is `\(word)`."
            case .notZero(let name, let kind, let word): "- `\(name)` must not be 0 when `\(kind)` is `\(word)`."
            case .cursor, .groupCursor: nil
            }
        }.joined(separator: "\n")
    }

    /// The errors that can answer a frame, in the order of the checks; those without a reason of their own are explained once.
    private static func refusals(of frame: FrameDefinition) -> String {
        var codes: [ErrorCode] = [.invalidPayload, .rateLimited]
        if frame.principal != .anybody { codes += [.notRegistered, .userBanned] }
        if frame.fromField != nil { codes.append(.forbidden) }
        if frame.schema.index(of: "sig") != nil { codes += [.authFailed, .invalidTimestamp] }
        codes += frame.refusals.map(\.code).filter { !codes.contains($0) }
        if case .gateway = frame.route {} else { codes.append(.internalError) }
        let own = frame.refusals.map { "- `\($0.code.rawValue)`: \($0.when)" }
        let list = "**Errors:** " + codes.map { "`\($0.rawValue)`" }.joined(separator: ", ") + "."
        return ([list] + (own.isEmpty ? [] : ["", own.joined(separator: "\n")])).joined(separator: "\n")
    }

    // MARK: From the server

    private static func frame(_ frame: ServerFrameDefinition) -> String {
        let origin =
            frame.answers.isEmpty
            ? "" : "**Answers** " + frame.answers.map { "`\($0)`" }.joined(separator: " and ") + "."
        let parts = [
            "### ← `\(frame.type)`", frame.about, self.fields(frame.schema), origin,
            self.example(["type": .string(frame.type), "payload": Document(sample: frame.samples[0])]),
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    // MARK: Fields

    static func fields(_ schema: ObjectSchema) -> String {
        let rows = self.rows(schema, prefix: "")
        return rows.isEmpty ? "" : self.table(["field", "type", "", "meaning"], rows)
    }

    private static func rows(_ schema: ObjectSchema, prefix: String) -> [[String]] {
        var rows: [[String]] = []
        let names = schema.fields.map(\.name)
        // V and S open most payloads: one row says it.
        let hasVersions = prefix.isEmpty && CommonFields.versions.allSatisfy { names.contains($0.name) }
        let hasSession =
            prefix.isEmpty && names.contains(CommonFields.sessionToken.name)
            && schema.fields.contains { if case .sessionToken = $0.type { true } else { false } }
        if hasVersions {
            rows.append([hasSession ? "V, S" : "V", "", "", "Versions\(hasSession ? " and session" : ""), see Types."])
        }
        for field in schema.fields {
            if hasVersions, CommonFields.versions.contains(where: { $0.name == field.name }) { continue }
            if hasSession, field.name == CommonFields.sessionToken.name { continue }
            let presence =
                switch field.presence {
                case .required: ""
                case .optional: "optional"
                case .clearable: "absent keeps, `null` clears"
                }
            rows.append(["`\(prefix)\(field.name)`", field.type.words, presence, field.about])
            switch field.type {
            // A message inside a frame is described where messages are.
            case .object(let inner), .array(of: .object(let inner), _):
                guard inner.index(of: "ciphertext") == nil || inner.index(of: "messageId") == nil else { continue }
                let isList = if case .array = field.type { true } else { false }
                rows += self.rows(inner, prefix: "\(prefix)\(field.name)\(isList ? "[]" : "").")
            default: break
            }
        }
        return rows
    }
}
