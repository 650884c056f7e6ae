/// Profiles: what the devices of one person share, each of which is an identity (contract §14.4).
package enum ProfileOperations {
    // MARK: Fields

    package static let profileID = TypedField.lowerCaseUUID("profileId", about: "Made by the first device.")
    package static let whisperID = TypedField.whisperID("whisperId")
    package static let joinedAt = TypedField.timestamp("joinedAt")
    package static let name = TypedField<ProfileDocumentName>.choice("name")
    package static let version = TypedField.integer(
        "version", 1...Limits.numberMax, about: "Counts the writings of the document, from 1 without gaps.")
    package static let updatedAt = TypedField.timestamp("updatedAt")
    package static let sizeBytes = TypedField.integer(
        "sizeBytes", 1...Int64(Limits.profileDocumentBytesMax), about: "Of the ciphertext.")
    package static let success = TypedField.bool("success", about: "Always `true`.")
    package static let nonce = TypedField.base64("nonce", Limits.sealedNonce)
    private static let joinHash = TypedField.base64(
        "joinHash", Limits.profileJoinKey, about: "SHA-256 of the key that devices join with.")
    private static let joinKey = TypedField.base64(
        "joinKey", Limits.profileJoinKey, about: "Derived from the profile's secret, which the server never sees.")

    package static func ciphertext(bytesMax: Int) -> TypedField<[UInt8]> {
        .base64("ciphertext", Limits.sealedBytesMin...bytesMax)
    }

    // MARK: Bodies

    /// The body of `putProfile`.
    package struct Put: HTTPBody {
        package let joinHash: [UInt8]

        package static let schema = ObjectSchema(CommonFields.versions + [ProfileOperations.joinHash.field])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.joinHash = try payload[ProfileOperations.joinHash]
        }
    }

    /// The body of `joinProfile`.
    package struct Join: HTTPBody {
        package let joinKey: [UInt8]

        package static let schema = ObjectSchema(CommonFields.versions + [ProfileOperations.joinKey.field])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            self.joinKey = try payload[ProfileOperations.joinKey]
        }
    }

    /// The body of `putProfileDocument`.
    /// - Parameter ciphertextBytesMax: for the service, to which too large (413) is something else than malformed (400).
    package static func document(ciphertextBytesMax: Int = Limits.profileDocumentBytesMax) -> ObjectSchema {
        ObjectSchema(CommonFields.versions + Self.sealed(ciphertextBytesMax: ciphertextBytesMax))
    }

    private static func sealed(ciphertextBytesMax: Int = Limits.profileDocumentBytesMax) -> [Field] {
        [Self.nonce.field, Self.ciphertext(bytesMax: ciphertextBytesMax).field]
    }

    // MARK: Answers

    private static let members = Field(
        "members",
        .array(
            of: .object(ObjectSchema([Self.whisperID.field, Self.joinedAt.field])), count: 1...Limits.profileMembersMax),
        about: "By age of membership.")

    private static let documents = Field(
        "documents",
        .array(
            of: .object(
                ObjectSchema([Self.name.field, Self.version.field, Self.updatedAt.field, Self.sizeBytes.field])),
            count: 0...ProfileDocumentName.allCases.count), about: "Those that were written.")

    private static let membership = ObjectSchema([Self.profileID.field, Self.members])

    // MARK: Samples

    private static let profileSample =
        #""profileId":"5b0c7a5e-2f0d-4f6b-8d55-0c4b7d1f2a61","members":[{"whisperId":"WSP-JBPU-D452-TLT4","joinedAt":1730000000000}]"#
    private static let sealedSample = #""nonce":"AAECAwQFBgcICQoL","ciphertext":"c2VhbGVkIHByb2ZpbGUgZG9jdW1lbnQu""#
    private static let keySample = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private static func versioned(_ members: String) -> String {
        #"{"protocolVersion":1,"cryptoVersion":1,\#(members)}"#
    }

    // MARK: Operations

    private static let path = "/profiles/{profileId}"
    private static let profile = HTTPOperation.Parameter.path("profileId", .lowerCaseUUID)
    private static let documentName = HTTPOperation.Parameter.path("name", Self.name.field.type)
    private static let entityTag = (
        name: "ETag", about: "The document's version in quotes, for `If-Match` and `If-None-Match`."
    )
    private static let notValid = HTTPOperation.Failure(.invalidPayload, "The id, the body or a header is not valid.")
    private static let notMember = HTTPOperation.Failure(
        .notFound, "There is no such profile, or the caller is no member.")

    package static let all = [
        HTTPOperation(
            "putProfile", .put, Self.path,
            about: """
                Makes a profile with the caller as its first member. By a member, exchanges the hash of the key that devices join \
                with.
                """,
            rate: Rates.profiles, parameters: [Self.profile],
            request: (Put.schema, Self.versioned(#""joinHash":"\#(Self.keySample)""#)),
            success: .json(Self.membership, sample: "{\(Self.profileSample)}"),
            failures: [
                Self.notValid,
                .init(
                    .forbidden,
                    """
                    The profile exists, and the caller is no member. Or the caller is in \(Limits.profilesJoinedMax) profiles \
                    already.
                    """),
            ]),
        HTTPOperation(
            "joinProfile", .post, "\(Self.path)/members",
            about: "Makes the caller a member. A member that joins again is answered the same.",
            rate: Rates.profiles, parameters: [Self.profile],
            request: (Join.schema, Self.versioned(#""joinKey":"\#(Self.keySample)""#)),
            success: .json(Self.membership, sample: "{\(Self.profileSample)}"),
            failures: [
                Self.notValid,
                .init(
                    .forbidden,
                    """
                    The key is wrong, or there is no such profile. Or the profile has \(Limits.profileMembersMax) members, or \
                    the caller is in \(Limits.profilesJoinedMax) profiles already.
                    """),
            ]),
        HTTPOperation(
            "removeProfileMember", .delete, "\(Self.path)/members/{whisperId}",
            about: """
                Takes a device out of the profile, by any member. Whoever is no member any more may repeat its own going. With \
                the last member the profile and its documents go.
                """,
            rate: Rates.profiles, parameters: [Self.profile, .path("whisperId", .whisperID)],
            success: .json(ObjectSchema([Self.success.field]), sample: #"{"success":true}"#),
            failures: [Self.notValid, Self.notMember]),
        HTTPOperation(
            "getProfile", .get, Self.path, about: "Who is in the profile, and which documents it has.",
            rate: Rates.profiles, parameters: [Self.profile],
            success: .json(
                ObjectSchema([Self.profileID.field, Self.members, Self.documents]),
                sample:
                    #"{\#(Self.profileSample),"documents":[{"name":"whisper","version":7,"updatedAt":1730000000000,"sizeBytes":4096}]}"#
            ), failures: [Self.notValid, Self.notMember]),
        HTTPOperation(
            "putProfileDocument", .put, "\(Self.path)/documents/{name}",
            about: """
                Writes a document, which the server cannot read. One of the two headers is needed. A write that was done and is \
                repeated is answered with 412, too: its version has passed.
                """,
            rate: Rates.profiles,
            parameters: [
                Self.profile, Self.documentName,
                .header(
                    "If-Match", .text(Limits.ifMatchCharacters),
                    about: "Write only if this is still the document's version."),
                .header("If-None-Match", .choice(["*"]), about: "Write only if there is no such document yet."),
            ],
            request: (Self.document(), Self.versioned(Self.sealedSample)),
            success: .json(
                ObjectSchema([Self.success.field, Self.version.field, Self.updatedAt.field]),
                sample: #"{"success":true,"version":7,"updatedAt":1730000000000}"#),
            headers: [Self.entityTag],
            failures: [
                .init(
                    .invalidPayload,
                    "The id, the name or the body is not valid, or not one of the two headers is there."),
                Self.notMember,
                .init(.invalidPayload, status: 412, "Another device has written meanwhile."),
                .init(
                    .invalidPayload, status: 413,
                    """
                    More than \(Limits.profileDocumentBytesMax) bytes of ciphertext. Or the documents of the profile would have more than \
                    \(Limits.profileBytesMax) together, or more than \(Limits.strangerProfileBytesMax) while no member has a peer.
                    """),
                .init(
                    .rateLimited,
                    "No member has a peer, and all identities without one keep as much as they may together."),
            ]),
        HTTPOperation(
            "getProfileDocument", .get, "\(Self.path)/documents/{name}", about: "A document as it was written.",
            rate: Rates.profiles,
            parameters: [
                Self.profile, Self.documentName,
                .header(
                    "If-None-Match", .text(Limits.ifMatchCharacters), about: "Versions that the client has already."),
            ],
            success: .json(
                ObjectSchema(Self.sealed() + [Self.version.field, Self.updatedAt.field]),
                sample: #"{\#(Self.sealedSample),"version":7,"updatedAt":1730000000000}"#),
            unchangedWhen: "`If-None-Match` names the present version.", headers: [Self.entityTag],
            failures: [
                Self.notValid,
                .init(.notFound, "There is no such document, or no such profile, or the caller is no member."),
            ]),
    ]
}
