import Contract
import HTTPAccess
import Hummingbird
import Store

// Invitations that people make (contract §20.6).
extension PublicRoutes {
    func addInvitations(to router: Router<some PeerContext>) {
        router.post("invitations") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.invite(request, context.peer)
            }
        }
        router.post("invitations/revoke") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.uninvite(request, context.peer)
            }
        }
    }

    private func invite(_ request: Request, _ peer: NetworkAddress?) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: peer)
        guard self.inviting.isAllowed else { throw .nobodyInvites }
        let body: DoorOperations.InviteOne = try await JSONBody.read(
            of: request, bytesMax: AuthLimits.invitationBodyBytesMax)
        // Only now: a body that is wrong costs none of the day's invitations.
        if let wait = await self.inviting.admit(session.caller.identity) {
            throw .tooMany(retryAfterMilliseconds: wait)
        }
        let invitation = try await self.stored { () async throws(StoreError) in
            try await self.inviting.invite(for: body.life, by: session.caller)
        }
        switch invitation {
        case .refused(let callerStatus): throw HTTPRefusal(callerStatus) ?? .internalError
        case .noRoom: throw .noRoomForInvitations
        case .made(let token, let expiresAt):
            var json = JSONWriter(capacity: 80)
            json.add("token", token.text)
            json.add("expiresAt", expiresAt)
            return .answer(json.finished())
        }
    }

    private func uninvite(_ request: Request, _ peer: NetworkAddress?) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: peer, within: Rates.revocations)
        let body: DoorOperations.Uninvite = try await JSONBody.read(
            of: request, bytesMax: AuthLimits.invitationBodyBytesMax)
        guard let token = InvitationToken(body.token) else { throw .notAnInvitation }
        let callerStatus = try await self.stored { () async throws(StoreError) in
            try await self.inviting.revoke(token, by: session.caller)
        }
        if let refusal = HTTPRefusal(callerStatus) { throw refusal }
        var json = JSONWriter(capacity: 16)
        json.add("success", true)
        return .answer(json.finished())
    }
}
