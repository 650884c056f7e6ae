import ClusterContract
package import Contract
package import Store

/// `auth.identities`, `.devices` and `.sessions`, as far as logins and sessions go.
package struct AuthTables: Equatable, Sendable {
    package struct Identity: Equatable, Sendable {
        package var signKey: Bytes32
        package var encKey: Bytes32
        package var epoch: Int64
        package var isBanned: Bool

        package init(signKey: Bytes32, encKey: Bytes32, epoch: Int64, isBanned: Bool = false) {
            self.signKey = signKey
            self.encKey = encKey
            self.epoch = epoch
            self.isBanned = isBanned
        }
    }

    struct Device: Equatable, Sendable {
        var id: PostgresUUID
        var platform: String
        var pushToken: String?
        var voipToken: String?
    }

    struct Session: Equatable, Sendable {
        var identity: WhisperID
        var device: PostgresUUID
        var platform: String
        var epoch: Int64
        var expiresAt: Timestamp
    }

    struct Guest: Equatable, Sendable {
        var signKey: Bytes32
        var encKey: Bytes32
        var epoch: Int64
        var tokenHash: Bytes32
        var expiresAt: Timestamp
    }

    package var identities: [WhisperID: Identity] = [:]
    var guests: [PostgresUUID: Guest] = [:]
    /// Members of profiles. Nobody joins or leaves one here.
    package var profiles: [PostgresUUID: [WhisperID]] = [:]
    var devices: [WhisperID: [Device]] = [:]
    var sessions: [Bytes32: Session] = [:]

    static let statements = [
        // Identities.
        StoreModel.reads("SELECT is_banned FROM auth.identities WHERE whisper_id = $1") { model, parameters in
            StatementAnswer([model.auth.identities[parameters(1)]].compactMap { $0 }) { $1.add($0.isBanned) }
        },
        StoreModel.reads("SELECT whisper_id, sign_key, enc_key FROM auth.identities") { model, parameters in
            let (sign, enc): (Bytes32, Bytes32) = (parameters(1), parameters(2))
            let holders = model.auth.identities.filter { $0.value.signKey == sign || $0.value.encKey == enc }
            return StatementAnswer(holders.sorted { $0.key < $1.key }) { holder, row in
                row.add(holder.key)
                row.add(holder.value.signKey)
                row.add(holder.value.encKey)
            }
        },
        // No operator has chosen, so the usual mode holds.
        StoreModel.reads("SELECT coalesce((SELECT mode FROM auth.registration)") { _, parameters in
            StatementAnswer([parameters(1, String.self)]) { $1.add($0) }
        },
        StoreModel.writes("INSERT INTO auth.identities") { model, parameters in
            let id: WhisperID = parameters(1)
            guard model.auth.identities[id] == nil else { return .nothing }
            model.auth.identities[id] = Identity(signKey: parameters(2), encKey: parameters(3), epoch: 0)
            return .changed(1)
        },
        StoreModel.writes("UPDATE auth.identities SET epoch = epoch + 1, seen_on") { model, parameters in
            let id: WhisperID = parameters(2)
            guard model.auth.identities[id]?.isBanned == false else { return .nothing }
            model.auth.identities[id]!.epoch += 1
            return StatementAnswer([model.auth.identities[id]!.epoch]) { epoch, row in
                row.add(epoch)
                // Nobody has a class of rates here.
                row.add(nil as String?)
            }
        },
        // Devices.
        StoreModel.writes("DELETE FROM auth.devices WHERE whisper_id = $1 AND device_id <> $2") { model, parameters in
            let device: PostgresUUID = parameters(2)
            model.auth.devices[parameters(1)]?.removeAll { $0.id != device }
            return .nothing
        },
        StoreModel.reads("SELECT pg_advisory_xact_lock(tokens.key)") { _, _ in .nothing },
        // Takes a token from whoever had it; here, nobody shows another's.
        StoreModel.writes("UPDATE auth.devices AS other\nSET push_token = CASE") { _, _ in .nothing },
        StoreModel.writes("INSERT INTO auth.devices AS mine") { model, parameters in
            let (id, device): (WhisperID, PostgresUUID) = (parameters(1), parameters(2))
            let old = model.auth.devices[id]?.first { $0.id == device }
            let (keepsPush, keepsVoIP): (Bool, Bool) = (parameters(9), parameters(10))
            model.auth.devices[id, default: []].removeAll { $0.id == device }
            model.auth.devices[id]!.append(
                Device(
                    id: device, platform: parameters(3), pushToken: keepsPush ? old?.pushToken : parameters(4),
                    voipToken: keepsVoIP ? old?.voipToken : parameters(5)))
            return .changed(1)
        },
        // Sessions.
        StoreModel.reads("SELECT s.token_hash, s.whisper_id, s.epoch") { model, parameters in
            let (now, hash): (Timestamp, Bytes32) = (parameters(1), parameters(2))
            guard let session = model.auth.sessions[hash], session.expiresAt > now,
                let identity = model.auth.identities[session.identity], identity.epoch == session.epoch
            else { return .nothing }
            return StatementAnswer([session]) { session, row in
                row.add(hash)
                row.add(session.identity)
                row.add(session.epoch)
                row.add(session.device)
                row.add(session.platform)
                row.add(session.expiresAt)
                row.add(identity.signKey)
                row.add(identity.isBanned)
                row.add(nil as String?)
                row.add(now)
            }
        },
        StoreModel.writes("DELETE FROM auth.sessions WHERE whisper_id = $1 RETURNING token_hash") { model, parameters in
            let id: WhisperID = parameters(1)
            let ended = model.auth.sessions.filter { $0.value.identity == id }.keys.sorted {
                $0.bytes.lexicographicallyPrecedes($1.bytes)
            }
            for hash in ended { model.auth.sessions[hash] = nil }
            return StatementAnswer(ended) { $1.add($0) }
        },
        StoreModel.writes(
            "INSERT INTO auth.sessions (token_hash, whisper_id, device_id, platform, epoch, expires_at)\nVALUES"
        ) {
            model, parameters in
            model.auth.sessions[parameters(1)] = Session(
                identity: parameters(2), device: parameters(3), platform: parameters(4), epoch: parameters(5),
                expiresAt: parameters(6))
            return StatementAnswer([parameters(6, Timestamp.self)]) { $1.add($0) }
        },
        // Nobody refreshes a session here.
        StoreModel.reads("SELECT predecessor FROM auth.sessions") { _, _ in .nothing },
        StoreModel.reads("DELETE FROM auth.sessions\nWHERE token_hash = (SELECT predecessor") { _, _ in .nothing },
    ]

    /// Nobody bans a guest here.
    static let guestStatements = [
        StoreModel.reads("SELECT FROM auth.guests WHERE guest_id = $1 FOR NO KEY UPDATE") { _, _ in .nothing },
        StoreModel.writes("INSERT INTO auth.guests AS mine") { model, parameters in
            let id: PostgresUUID = parameters(1)
            let known = model.auth.guests[id]
            let guest = Guest(
                signKey: parameters(2), encKey: parameters(3), epoch: (known?.epoch ?? 0) + 1,
                tokenHash: parameters(4), expiresAt: parameters(5))
            model.auth.guests[id] = guest
            return StatementAnswer([guest]) { guest, row in
                Self.add(id, guest, seenAt: parameters(6), to: &row)
                row.add(known?.tokenHash)
            }
        },
        StoreModel.reads("SELECT guest_id, epoch, token_hash") { model, parameters in
            let (now, hash): (Timestamp, Bytes32) = (parameters(1), parameters(2))
            let living = model.auth.guests.filter { $0.value.tokenHash == hash && $0.value.expiresAt > now }
            return StatementAnswer(living) { Self.add($0.key, $0.value, seenAt: now, to: &$1) }
        },
        StoreModel.writes("UPDATE auth.guests SET seen_at") { model, parameters in
            let (now, hash): (Timestamp, Bytes32) = (parameters(1), parameters(2))
            let living = model.auth.guests.filter { $0.value.tokenHash == hash && $0.value.expiresAt > now }
            return StatementAnswer(living) { Self.add($0.key, $0.value, seenAt: now, to: &$1) }
        },
        StoreModel.reads("SELECT guest_id, epoch, is_banned FROM auth.live_guests") { model, parameters in
            let living = parameters(1, [PostgresUUID].self).filter {
                model.auth.guests[$0].map { $0.expiresAt > model.now } ?? false
            }
            return StatementAnswer(living) { id, row in
                row.add(id)
                row.add(model.auth.guests[id]!.epoch)
                row.add(false)
            }
        },
    ]

    private static func add(_ id: PostgresUUID, _ guest: Guest, seenAt: Timestamp, to row: inout Columns) {
        row.add(id)
        row.add(guest.epoch)
        row.add(guest.tokenHash)
        row.add(guest.expiresAt)
        row.add(guest.signKey)
        row.add(false)
        row.add(seenAt)
    }
}
