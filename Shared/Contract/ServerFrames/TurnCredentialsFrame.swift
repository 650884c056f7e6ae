/// "These relays know you." Answers a `get_turn_credentials` (contract §7).
package struct TurnCredentialsFrame: ServerFrame, ObjectValue, Hashable {
    package let urls: [String]
    package let username: String
    package let credential: [UInt8]
    /// In seconds.
    package let ttl: Int64

    private static let urls = TypedField.texts("urls", 1...512, count: 1...16)
    private static let username = TypedField.text(
        "username", 1...128, about: "`{unix expiry}:{pseudonym}`. The same within an hour.")
    private static let credential = TypedField.base64("credential", 20...20, about: "HMAC-SHA1 of the user name.")
    private static let ttl = TypedField.integer("ttl", 1...Limits.turnSecondsMax, about: "In seconds.")

    package static let definition = ServerFrameDefinition(
        "turn_credentials", about: "Relays, and credentials for them.",
        answers: ["get_turn_credentials", RoomTurn.definition.type],
        fields: Self.fields, samples: [Self.sample])
    static let schema = ObjectSchema(Self.fields)

    private static let fields = [Self.urls.field, Self.username.field, Self.credential.field, Self.ttl.field]
    static let sample =
        #"{"urls":["turn:turn.example:3478?transport=udp"],"username":"1730043200:d41d8cd98f00b204","credential":"AAECAwQFBgcICQoLDA0ODxAREhM=","ttl":43200}"#

    package init(urls: [String], username: String, credential: [UInt8], ttl: Int64) {
        self.urls = urls
        self.username = username
        self.credential = credential
        self.ttl = ttl
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.urls = try payload[Self.urls]
        self.username = try payload[Self.username]
        self.credential = try payload[Self.credential]
        self.ttl = try payload[Self.ttl]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.urls, self.urls)
        json.add(Self.username, self.username)
        json.add(Self.credential, self.credential)
        json.add(Self.ttl, self.ttl)
        return json.finished()
    }
}
