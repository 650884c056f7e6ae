import Contract

/// Renews the secret of our profile after a device was removed from it (contract §14.4).
extension WhisperClient {
    /// Draws a new secret, and seals all documents with its key. The previous link neither admits a device nor opens
    /// later documents. Other devices join again by the new link.
    ///
    /// The new secret is stored before it is used at the server. A retry after an interruption uses the same secret.
    /// - Returns: the profile; its link has the new secret.
    package func renewProfile() async throws(LiveError) -> SharedProfile {
        let old = try self.profileLink()
        let next = try self.kept {
            try $0.nextProfileSecret(orKeep: SecretBytes(Sodium.random(LiveLimits.secretBytes)))
        }
        // The removed device cannot join while documents are written.
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
                // Another device was faster: its document is read and sealed again.
                guard error == .changed else { throw error }
            }
        }
        throw .changed
    }
}
