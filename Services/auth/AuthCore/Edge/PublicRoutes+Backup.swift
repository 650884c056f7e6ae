import Contract
import HTTPAccess
import Hummingbird
import Store

// The contact backup: one encrypted blob for each identity, which the server cannot read (spec §14).
extension PublicRoutes {
    func readBackup(_ request: Request, _ peer: NetworkAddress?) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: peer, within: Rates.backup)
        let reading = try await self.stored { () async throws(StoreError) in
            try await self.backups.read(for: session.caller)
        }
        switch reading {
        case .refused(let callerStatus): throw HTTPRefusal(callerStatus) ?? .internalError
        case .none: throw .noBackup
        case .found(let backup):
            var json = JSONWriter(capacity: backup.ciphertext.count / 3 * 4 + 160)
            json.add("nonce", base64: backup.nonce)
            json.add("ciphertext", base64: backup.ciphertext)
            json.add("updatedAt", backup.updatedAt)
            return .answer(json.finished(), headers: [.eTag: EntityTag.text(backup.revision)])
        }
    }

    func writeBackup(_ request: Request, _ peer: NetworkAddress?) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: peer, within: Rates.backup)
        let expected = try Self.versions("If-Match", request.headers[.ifMatch])
        let frame = try await Self.backup(in: request)
        let condition: ContactBackupTable.Condition =
            switch expected {
            case nil: .anything
            case .any: .exists
            case .oneOf(let revisions): .revision(revisions)
            }
        let now = self.clock()
        let writing = try await self.stored { () async throws(StoreError) in
            try await self.backups.write(
                nonce: frame.nonce, ciphertext: frame.ciphertext, if: condition, for: session.caller,
                strangerBytesMax: self.configuration.strangerBackupBytesMax,
                strangersBytesMax: self.configuration.strangersBytesMax, at: now)
        }
        switch writing {
        case .refused(let callerStatus): throw HTTPRefusal(callerStatus) ?? .internalError
        case .lostRace: throw .lostRace
        case .tooLarge: throw .backupTooLargeForStranger
        case .noRoom: throw .noRoomForStrangers
        case .written(let revision):
            var json = JSONWriter()
            json.add("success", true)
            json.add("updatedAt", now)
            return .answer(json.finished(), headers: [.eTag: EntityTag.text(revision)])
        }
    }

    func removeBackup(_ request: Request, _ peer: NetworkAddress?) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: peer, within: Rates.backup)
        let callerStatus = try await self.stored { () async throws(StoreError) in
            try await self.backups.remove(for: session.caller)
        }
        if let refusal = HTTPRefusal(callerStatus) { throw refusal }
        var json = JSONWriter(capacity: 16)
        json.add("success", true)
        return .answer(json.finished())
    }

    private static func backup(in request: Request) async throws(HTTPRefusal) -> ContactBackupFrame {
        let frame: ContactBackupFrame = try await JSONBody.read(
            of: request, bytesMax: AuthLimits.backupBodyBytesMax, tooLong: .backupTooLarge)
        guard !frame.isTooLarge else { throw .backupTooLarge }
        return frame
    }
}
