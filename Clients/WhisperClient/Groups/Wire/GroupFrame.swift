import Contract

/// Frames about groups that the client writes (contract §6).
struct CreateGroup: ClientPayload {
    static let type = "group_create"
    var protocolVersion = Version.protocolVersion
    var cryptoVersion = Version.cryptoVersion
    var sessionToken: String
    var title: String
    var memberIds: [String]
    var actorSig: String
    var timestamp: Int64

    init(sessionToken: String, title: String, memberIds: [String], signed: SignedGroupChange) {
        self.sessionToken = sessionToken
        self.title = title
        self.memberIds = memberIds
        self.actorSig = String(decoding: Base64.encode(signed.signature.bytes), as: UTF8.self)
        self.timestamp = signed.timestamp.milliseconds
    }
}

struct UpdateGroup: ClientPayload {
    struct Role: Encodable, Sendable {
        var whisperId: String
        var role: String
    }

    static let type = "group_update"
    var protocolVersion = Version.protocolVersion
    var cryptoVersion = Version.cryptoVersion
    var sessionToken: String
    var groupId: String
    var title: String?
    var addMembers: [String]?
    var removeMembers: [String]?
    var roleChanges: [Role]?
    var actorSig: String
    var timestamp: Int64

    init(_ update: GroupUpdateOrder, of group: String, sessionToken: String, signed: SignedGroupChange) {
        func ids(_ people: [WhisperID]) -> [String]? { people.isEmpty ? nil : people.map { "\($0)" } }
        self.sessionToken = sessionToken
        self.groupId = group
        self.title = update.title
        self.addMembers = ids(update.added)
        self.removeMembers = ids(update.removed)
        self.actorSig = String(decoding: Base64.encode(signed.signature.bytes), as: UTF8.self)
        self.timestamp = signed.timestamp.milliseconds
        let roles = update.sortedRoles
        if !roles.isEmpty {
            self.roleChanges = roles.map { Role(whisperId: "\($0.key)", role: $0.value.rawValue) }
        }
    }
}

struct ListGroups: ClientPayload {
    static let type = "group_list"
    var protocolVersion = Version.protocolVersion
    var cryptoVersion = Version.cryptoVersion
    var sessionToken: String
    var cursor: String?

    init(sessionToken: String, cursor: String?) {
        self.sessionToken = sessionToken
        self.cursor = cursor
    }
}

struct SendGroupMessage: ClientPayload {
    static let type = "group_send_message"
    var protocolVersion = Version.protocolVersion
    var cryptoVersion = Version.cryptoVersion
    var sessionToken: String
    var groupId: String
    var messageId: String
    var from: String
    var to: String
    var msgType: String
    var timestamp: Int64
    var nonce: String
    var ciphertext: String
    var sig: String
    var attachment: FilePointer?

    init(_ message: SealedMessage, groupID: String, messageType: String, sessionToken: String) {
        self.sessionToken = sessionToken
        self.groupId = groupID
        self.messageId = message.messageID
        self.from = message.from
        self.to = message.to
        self.msgType = messageType
        self.timestamp = message.timestamp
        self.nonce = message.nonce
        self.ciphertext = message.ciphertext
        self.sig = message.signature
    }
}
