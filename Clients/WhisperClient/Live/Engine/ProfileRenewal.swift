import Contract

/// Another secret for our profile, for when a device was taken out of it (contract §14.4).
extension WhisperClient {
    /// Draws another secret, and seals all documents with its key. Nobody joins by the link of before, or reads what is written from
    /// now on. Other devices join again by the new link.
    ///
    /// The new secret is kept before the server hears of it. An attempt that was broken off goes on with the same one.
    /// - Returns: the profile; its link has the new secret.
    package func renewProfile() async throws(LiveError) -> SharedProfile {
        let old = try self.profileLink()
        let next = try self.kept {
            try $0.nextProfileSecret(orKeep: SecretBytes(Sodium.random(LiveLimits.secretBytes)))
        }
        // Whoever was taken out cannot join while documents are written.
        let shared = try await self.profile { (server, token) throws(LinkError) in
            try await server.put(Self.path(of: old.id), ProfileKeys(secret: next).body, if: nil, bearer: token)
        }
        for name in ProfileDocumentName.allCases { try await self.sealAnew(name, of: old, with: next) }
        try self.kept { try $0.set(profile: old.id, secret: next) }
        return shared
    }

    private func sealAnew(
        _ name: ProfileDocumentName, of old: ProfileLink, with next: SecretBytes
    ) async throws(LiveError) {
        for _ in 0..<ClientLimits.documentAttemptsMax {
            let document: ProfileDocument
            do throws(LiveError) { document = try await self.profileDocument(name) } catch {
                guard error == .notFound else { throw error }
                return
            }
            do throws(LiveError) {
                _ = try await self.write(document.content, as: name, over: document.version, secret: next)
                return
            } catch {
                // Another device was faster: what it has written is sealed anew.
                guard error == .changed else { throw error }
            }
        }
        throw .changed
    }
}
