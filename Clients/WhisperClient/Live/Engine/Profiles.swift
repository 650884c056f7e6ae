package import Contract

/// The profile of live conversations that several devices of one person share (contract §14.4). Each device has its own
/// identity.
extension WhisperClient {
    /// The link with which another device joins. The first call draws its secret.
    package func profileLink() throws(LiveError) -> ProfileLink {
        let profile = try self.kept { try $0.profile() }
        return ProfileLink(id: profile.id, secret: profile.secret)
    }

    /// Creates our profile at the server, so that other devices can join. A repetition changes nothing.
    package func shareProfile() async throws(LiveError) -> SharedProfile {
        // A device without the newest secret must not restore its older one.
        do throws(LiveError) { return try await self.sharedProfile() } catch {
            guard error == .notFound else { throw error }
        }
        let link = try self.profileLink()
        return try await self.profile { (server, token) throws(LinkError) in
            try await server.put(
                Self.path(of: link.id), ProfileKeys(secret: link.secret).body, if: nil, bearer: token)
        }
    }

    /// Joins another device's profile, in place of our own.
    /// - Throws: `.inUse` if this device has conversations of our own: they belong to our profile.
    package func joinProfile(_ link: ProfileLink) async throws(LiveError) -> SharedProfile {
        let isFree = try self.kept { try $0.profile().id == link.id || $0.conversations().isEmpty }
        guard isFree else { throw .inUse }
        let shared = try await self.profile { (server, token) throws(LinkError) in
            try await server.post(
                Self.path(of: link.id) + "/members", ProfileKeys(secret: link.secret).joinBody, bearer: token)
        }
        // Stored even if it is our own profile: another device may have renewed its secret.
        try self.kept { try $0.set(profile: link.id, secret: link.secret) }
        return shared
    }

    /// Our profile as the server knows it.
    /// - Throws: `.notFound` if the profile does not exist, or another device has removed us.
    package func sharedProfile() async throws(LiveError) -> SharedProfile {
        let id = try self.kept { try $0.profile().id }
        return try await self.profile { (server, token) throws(LinkError) in
            try await server.get(Self.path(of: id), bearer: token)
        }
    }

    /// Removes a device from our profile. The device keeps the secrets it had, but the server refuses its commands.
    /// After our own removal a new profile is drawn.
    /// - Parameter member: `nil` for this device.
    package func removeFromProfile(_ member: WhisperID?) async throws(LiveError) {
        guard let own = self.id, let token else { throw .offline }
        let isOurs = member == nil || member == own
        let (id, isUsed) = try self.kept { (try $0.profile().id, try !$0.conversations().isEmpty) }
        if isOurs, isUsed { throw .inUse }
        let answer: HTTPAnswer
        do throws(LinkError) {
            answer = try await self.server.delete(
                Self.path(of: id) + "/members/\(member ?? own)", bearer: token.token)
        } catch {
            throw .unreachable(error)
        }
        _ = try Self.profileBody(of: answer)
        if isOurs {
            try self.kept { try $0.set(profile: .random(), secret: SecretBytes(Sodium.random(LiveLimits.secretBytes))) }
        }
    }

    static func path(of profile: UUIDText) -> String { "/profiles/\(profile)" }

    func profile(
        _ ask: (any ServerLink, String) async throws(LinkError) -> HTTPAnswer
    ) async throws(LiveError) -> SharedProfile {
        guard let token else { throw .offline }
        let answer: HTTPAnswer
        do throws(LinkError) { answer = try await ask(self.server, token.token) } catch { throw .unreachable(error) }
        guard let profile = SharedProfile(try Self.profileBody(of: answer)) else { throw .server(status: 0) }
        return profile
    }

    static func profileBody(of answer: HTTPAnswer) throws(LiveError) -> [UInt8] {
        switch answer.status {
        case 200: return answer.body
        case 401: throw .refused(.notRegistered, retryAfter: nil)
        case 403: throw .refused(.forbidden, retryAfter: nil)
        case 404: throw .notFound
        case 429: throw .refused(.rateLimited, retryAfter: nil)
        default: throw .server(status: answer.status)
        }
    }
}
