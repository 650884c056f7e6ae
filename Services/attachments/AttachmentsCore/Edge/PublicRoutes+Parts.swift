import Contract
import HTTPAccess
import Hummingbird
import Store

// Uploads in parts: what a bad link breaks goes on where it broke.
extension PublicRoutes {
    func urls(
        of parts: [UploadPlan.Part], _ key: ObjectKey, upload: String, at now: Timestamp
    ) -> AttachmentAnswers.Parts {
        self.metrics.presigns[.part].increment(by: parts.count)
        let life = self.configuration.uploadURLLife
        return AttachmentAnswers.Parts(
            missing: parts.map { ($0, self.store.partURL(of: key, upload: upload, $0, at: now, life: life)) })
    }

    func listParts(
        _ text: Substring, _ request: Request, _ peer: NetworkAddress?
    ) async throws(HTTPRefusal) -> Response {
        let (key, found) = try await self.own(text, request, peer)
        guard let upload = found.upload, let uploader = found.uploader, found.uploadedAt == nil else {
            throw HTTPRefusal(.invalidPayload, "the upload was not presigned in parts, or is complete")
        }
        let now = self.clock()
        let until = now + self.configuration.uploadURLLife
        // Its room was given back when its last URL ended.
        let takenAt = found.expiresAt <= now ? try await self.takeRoom(for: found.sizeBytes) : nil
        let stored = try await self.kept { () async throws(ObjectStoreError) in
            try await self.store.parts(of: key, upload: upload)
        }
        let mayGoOn = try await self.stored { () async throws(StoreError) in
            try await self.attachments.renew(
                key, of: uploader, for: self.configuration.uploadURLLife, quota: self.configuration.quotaBytes,
                at: self.clock.store)
        }
        guard mayGoOn else {
            if let takenAt { await self.room.giveBack(found.sizeBytes, takenAt: takenAt) }
            throw self.overQuota()
        }
        let plan = UploadPlan(sizeBytes: found.sizeBytes)
        return .answer(
            AttachmentAnswers.parts(
                self.urls(of: plan.missing(of: stored), key, upload: upload, at: now),
                received: plan.arrived(of: stored).map(\.number), until: until))
    }

    func complete(
        _ text: Substring, _ request: Request, _ peer: NetworkAddress?
    ) async throws(HTTPRefusal) -> Response {
        let (key, found) = try await self.own(text, request, peer)
        if found.uploadedAt == nil {
            if let upload = found.upload { try await self.join(key, found.sizeBytes, upload) }
            // Also what an answer that got lost has joined before, or came in one piece after all.
            let size = try await self.kept { () async throws(ObjectStoreError) in try await self.store.size(of: key) }
            guard size == found.sizeBytes else { throw HTTPRefusal(.invalidPayload, "the upload is incomplete") }
            let isWanted = try await self.stored { () async throws(StoreError) in
                try await self.attachments.markUploaded(key, at: self.clock.store)
            }
            guard isWanted else { throw .unknownObject }
        }
        return .answer(AttachmentAnswers.complete(sizeBytes: found.sizeBytes))
    }

    /// Makes one object of the parts, if they are all there.
    private func join(_ key: ObjectKey, _ size: Int64, _ upload: String) async throws(HTTPRefusal) {
        let plan = UploadPlan(sizeBytes: size)
        try await self.kept { () async throws(ObjectStoreError) in
            let arrived = plan.arrived(of: try await self.store.parts(of: key, upload: upload))
            guard arrived.count == plan.parts.count else { return }
            do throws(ObjectStoreError) {
                try await self.store.join(arrived, of: key, upload: upload)
            } catch .refused(404, _) {
                // Somebody else has joined them meanwhile.
            }
        }
    }

    /// The caller's own upload.
    private func own(
        _ text: Substring, _ request: Request, _ peer: NetworkAddress?
    ) async throws(HTTPRefusal) -> (key: ObjectKey, found: AttachmentTable.Found) {
        let session = try await self.sessions.session(of: request, from: peer, within: Rates.presign)
        guard let key = ObjectKey(text) else { throw .unknownObject }
        let found = try await self.stored { () async throws(StoreError) in try await self.attachments.find(key) }
        guard let found else { throw .unknownObject }
        guard found.uploader == session.caller.identity else { throw .notYours }
        return (key, found)
    }
}
