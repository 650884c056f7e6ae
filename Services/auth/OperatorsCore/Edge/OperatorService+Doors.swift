package import Contract
import HTTPAccess
import ServerCrypto
import Store

// Registration and invitations. Each change and its audit record are one transaction.
extension OperatorService {
    package struct Registration: Equatable, Sendable {
        package var mode: RegistrationMode
        package var isDefault: Bool
        package var changedAt: Timestamp?
    }

    func registration() async throws(HTTPRefusal) -> Registration {
        let state = try await self.stored { () async throws(StoreError) in try await self.doors.state() }
        return Registration(
            mode: state.chosen ?? self.usualRegistration, isDefault: state.chosen == nil, changedAt: state.changedAt)
    }

    /// - Parameter mode: `nil`: the setting counts again.
    func choose(
        _ mode: RegistrationMode?, reason: String?, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) {
        call.event.target = "registration"
        call.event.note = [mode?.rawValue ?? "default", reason].compactMap { $0 }.joined(separator: ": ")
        let (event, now) = (call.event, self.clock.store)
        try await self.changed { transaction throws(StoreError) in
            try await self.doors.choose(mode, at: now, in: transaction)
            try await self.audit.add(event, at: now, in: transaction)
        }
        call.isRecorded = true
    }

    /// An invitation with the only copy of its token.
    package struct NewInvitation: Sendable {
        package var id: UUIDText
        package var token: InvitationToken
        package var expiresAt: Timestamp
    }

    func invite(
        _ wish: DoorOperations.Invite, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> NewInvitation {
        try await self.gate.admit(call.event.actor, within: Rates.invitations)
        let (id, token) = (UUIDText.random(), InvitationToken(random: randomBytes(InvitationToken.byteCount)))
        call.event.target = "\(id)"
        let (event, now) = (call.event, self.clock.store)
        let rateClass = try self.rateClass(wish.rateClass)
        let added = try await self.changed { transaction throws(StoreError) -> Added in
            if rateClass != nil {
                try await transaction.execute(RateClassTable.lock)
                guard try await transaction.query(RateClassTable.hasRoom(for: wish.uses, at: now)) else {
                    return .noRoomForClass
                }
            }
            let expiresAt = try await self.doors.add(
                id, tokenHash: SHA256.hash(token.bytes), uses: wish.uses, for: wish.life,
                by: .operators(label: wish.label), rateClass: rateClass, at: now, in: transaction)
            guard let expiresAt else { return .noRoom }
            try await self.audit.add(event, at: now, in: transaction)
            return .done(expiresAt: expiresAt)
        }
        switch added {
        case .noRoom: throw .tooManyInvitations
        case .noRoomForClass: throw .tooManyRateClasses
        case .done(let expiresAt):
            call.isRecorded = true
            return NewInvitation(id: id, token: token, expiresAt: expiresAt)
        }
    }

    private enum Added: Sendable {
        case done(expiresAt: Timestamp)
        case noRoom, noRoomForClass
    }

    func revokeInvitation(_ id: UUIDText, _ call: inout AdminGate.Call) async throws(HTTPRefusal) {
        call.event.target = "\(UUIDText(high: id.high, low: id.low))"
        let (event, now) = (call.event, self.clock.store)
        let isKnown = try await self.changed { transaction throws(StoreError) in
            guard try await self.doors.revoke(id, at: now, in: transaction) else { return false }
            try await self.audit.add(event, at: now, in: transaction)
            return true
        }
        guard isKnown else { throw .unknownInvitation }
        call.isRecorded = true
    }

    func invitations(_ page: AdminPage) async throws(HTTPRefusal) -> [DoorTable.Invitation] {
        try await self.stored { () async throws(StoreError) in
            try await self.doors.list(before: page.cursor, limit: page.lookup)
        }
    }
}
