import Contract
import HTTPAccess
import Hummingbird
import ServerCrypto
import Store
import Telemetry

// Profiles: what the devices of one person share (contract §14.4).
extension PublicRoutes {
    func addProfiles(to router: Router<some PeerContext>) {
        router.put("profiles/{profileId}") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in try await self.putProfile(request, context)
            }
        }
        router.get("profiles/{profileId}") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.readProfile(request, context)
            }
        }
        router.post("profiles/{profileId}/members") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.joinProfile(request, context)
            }
        }
        router.delete("profiles/{profileId}/members/{whisperId}") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.removeMember(request, context)
            }
        }
        router.put("profiles/{profileId}/documents/{name}") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.countedDocument(as: .written) { () async throws(HTTPRefusal) in
                    try await self.writeDocument(request, context)
                }
            }
        }
        router.get("profiles/{profileId}/documents/{name}") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.countedDocument(as: .read) { () async throws(HTTPRefusal) in
                    try await self.readDocument(request, context)
                }
            }
        }
    }

    // MARK: The profile and its members

    private func putProfile(_ request: Request, _ context: some PeerContext) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: context.peer, within: Rates.profiles)
        let profile = try Self.profileID(in: context)
        let body: ProfileOperations.Put = try await JSONBody.read(
            of: request, bytesMax: AuthLimits.profileBodyBytesMax)
        // The schema has counted the bytes.
        guard let joinHash = Bytes32(body.joinHash) else { throw .internalError }
        let now = self.clock()
        let members = try await self.stored { () async throws(StoreError) in
            try await self.profiles.put(profile, joinHash: joinHash, by: session.caller, at: now)
        }
        return Self.answer(profile, try members.get())
    }

    private func joinProfile(_ request: Request, _ context: some PeerContext) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: context.peer, within: Rates.profiles)
        let profile = try Self.profileID(in: context)
        let body: ProfileOperations.Join = try await JSONBody.read(
            of: request, bytesMax: AuthLimits.profileBodyBytesMax)
        let keyHash = SHA256.hash(body.joinKey)
        let now = self.clock()
        let members = try await self.stored { () async throws(StoreError) in
            try await self.profiles.join(profile, keyHash: keyHash, by: session.caller, at: now)
        }
        return Self.answer(profile, try members.get())
    }

    private func removeMember(_ request: Request, _ context: some PeerContext) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: context.peer, within: Rates.profiles)
        let profile = try Self.profileID(in: context)
        guard let member = context.parameters.get("whisperId").flatMap({ WhisperID($0) }) else { throw .notAnID }
        let removal = try await self.stored { () async throws(StoreError) in
            try await self.profiles.remove(member, from: profile, by: session.caller)
        }
        try removal.get()
        var json = JSONWriter(capacity: 16)
        json.add(ProfileOperations.success, true)
        return .answer(json.finished())
    }

    private func readProfile(_ request: Request, _ context: some PeerContext) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: context.peer, within: Rates.profiles)
        let profile = try Self.profileID(in: context)
        let reading = try await self.stored { () async throws(StoreError) in
            try await self.profiles.read(profile, for: session.caller)
        }
        let found = try reading.get()
        var json = JSONWriter(capacity: 1_024)
        Self.add(profile, found.members, to: &json)
        json.add("documents", objects: found.documents) { document, json in
            json.add(ProfileOperations.name, document.name)
            json.add(ProfileOperations.version, document.version)
            json.add(ProfileOperations.updatedAt, document.updatedAt)
            json.add(ProfileOperations.sizeBytes, document.sizeBytes)
        }
        return .answer(json.finished())
    }

    // MARK: Documents

    private func writeDocument(_ request: Request, _ context: some PeerContext) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: context.peer, within: Rates.profiles)
        let (profile, name) = (try Self.profileID(in: context), try Self.documentName(in: context))
        let condition = try Self.condition(in: request.headers)
        let frame: ProfileDocumentFrame = try await JSONBody.read(
            of: request, bytesMax: AuthLimits.profileDocumentBodyBytesMax, tooLong: .documentTooLarge)
        guard !frame.isTooLarge else { throw .documentTooLarge }
        let now = self.clock()
        let writing = try await self.stored { () async throws(StoreError) in
            try await self.profiles.write(
                frame.sealed, as: name, of: profile, if: condition, by: session.caller, at: now)
        }
        let version = try writing.get()
        var json = JSONWriter()
        json.add(ProfileOperations.success, true)
        json.add(ProfileOperations.version, version)
        json.add(ProfileOperations.updatedAt, now)
        return .answer(json.finished(), headers: [.eTag: EntityTag.text(version)])
    }

    private func readDocument(_ request: Request, _ context: some PeerContext) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: context.peer, within: Rates.profiles)
        let (profile, name) = (try Self.profileID(in: context), try Self.documentName(in: context))
        let known = try Self.versions("If-None-Match", request.headers[.ifNoneMatch], isWeak: true)
        let reading = try await self.stored { () async throws(StoreError) in
            try await self.profiles.document(name, of: profile, unless: known ?? .oneOf([]), for: session.caller)
        }
        switch reading {
        case .refused(let callerStatus): throw HTTPRefusal(callerStatus) ?? .internalError
        case .missing: throw .noDocument
        case .unchanged(let version):
            return Response(status: .notModified, headers: [.eTag: EntityTag.text(version)])
        case .found(let document):
            var json = JSONWriter(capacity: document.sealed.ciphertext.count / 3 * 4 + 160)
            json.add("nonce", base64: document.sealed.nonce)
            json.add("ciphertext", base64: document.sealed.ciphertext)
            json.add(ProfileOperations.version, document.version)
            json.add(ProfileOperations.updatedAt, document.updatedAt)
            return .answer(json.finished(), headers: [.eTag: EntityTag.text(document.version)])
        }
    }

    /// Counts a request for a document by what became of it.
    private func countedDocument(
        as done: ProfileDocumentResult, _ body: () async throws(HTTPRefusal) -> Response
    ) async throws(HTTPRefusal) -> Response {
        do throws(HTTPRefusal) {
            let response = try await body()
            self.profileMetrics.documents[response.status == .notModified ? .unchanged : done].increment()
            return response
        } catch {
            self.profileMetrics.documents[ProfileDocumentResult(refusedWith: error.status.code)].increment()
            throw error
        }
    }

    // MARK: Parts of requests and answers

    /// In lower case (contract §19.9).
    private static func profileID(in context: some RequestContext) throws(HTTPRefusal) -> UUIDText {
        guard let profile = context.parameters.get("profileId").flatMap({ UUIDText($0) }), profile.upperCase == 0 else {
            throw .notAProfileID
        }
        return profile
    }

    private static func documentName(in context: some RequestContext) throws(HTTPRefusal) -> ProfileDocumentName {
        guard let name = context.parameters.get("name").flatMap({ ProfileDocumentName(rawValue: $0) }) else {
            throw .notADocumentName
        }
        return name
    }

    /// A document is never written unseen: whoever writes says what is there.
    private static func condition(in headers: HTTPFields) throws(HTTPRefusal) -> ProfileDocument.Condition {
        let match = try self.versions("If-Match", headers[.ifMatch])
        let noneMatch = try self.versions("If-None-Match", headers[.ifNoneMatch])
        switch (match, noneMatch) {
        case (.oneOf(let versions), nil): return .version(versions)
        case (nil, .any): return .isMissing
        default: throw .noCondition
        }
    }

    private static func answer(_ profile: UUIDText, _ members: [ProfileMember]) -> Response {
        var json = JSONWriter(capacity: 512)
        self.add(profile, members, to: &json)
        return .answer(json.finished())
    }

    private static func add(_ profile: UUIDText, _ members: [ProfileMember], to json: inout JSONWriter) {
        json.add(ProfileOperations.profileID, profile)
        json.add("members", objects: members) { member, json in
            json.add(ProfileOperations.whisperID, member.identity)
            json.add(ProfileOperations.joinedAt, member.joinedAt)
        }
    }
}
