package import Contract

/// Documents that the devices of a profile share (contract §14.4). The server keeps them and cannot read them.
extension WhisperClient {
    /// - Throws: `.notFound` if no document has this name, or we are in no profile; `.outdated` if the server shows an
    ///   older document than this device has seen; `.unreadable`.
    package func profileDocument(_ name: ProfileDocumentName) async throws(LiveError) -> ProfileDocument {
        let link = try self.profileLink()
        let body = try await self.documentBody { (server, token) throws(LinkError) in
            try await server.get(Self.path(of: name, link.id), bearer: token)
        }
        guard let read = DocumentBody.read(body) else { throw .server(status: 0) }
        // While the secret is renewed, some documents already have the next key.
        let secrets = [link.secret] + (try self.kept { try $0.nextProfileSecret() }.map { [$0] } ?? [])
        let texts = secrets.lazy.compactMap { secret in
            DocumentText(read.sealed, as: name, of: link.id, key: ProfileKeys(secret: secret).documentKey)
        }
        guard let text = texts.first else { throw .unreadable }
        let seen = SeenDocument(version: read.written.version, counter: text.counter)
        guard try self.kept({ try $0.note(seen, as: name, of: link.id) }) else { throw .outdated }
        return ProfileDocument(
            name: name, version: read.written.version, updatedAt: Timestamp(milliseconds: read.written.updatedAt),
            content: text.content)
    }

    /// Replaces the version that was read here.
    /// - Parameters:
    ///   - version: 0 for the first write.
    ///   - secret: the profile's next secret, while it is renewed.
    /// - Throws: `.changed` if another device has written meanwhile, or this version was not read here; `.tooLong` if
    ///   the document is too long for the server.
    package func write(
        _ content: String, as name: ProfileDocumentName, over version: Int64, secret: SecretBytes? = nil
    ) async throws(LiveError) -> ProfileDocument {
        let link = try self.profileLink()
        let seen = try self.kept { try $0.seenDocument(name, of: link.id) }
        guard seen?.version ?? 0 == version else { throw .changed }
        let (counter, overflow) = (seen?.counter ?? 0).addingReportingOverflow(1)
        guard !overflow else { throw .outdated }
        let sealed = DocumentText(counter: counter, content: content).sealed(
            as: name, of: link.id, key: ProfileKeys(secret: secret ?? link.secret).documentKey,
            nonce: Sodium.random(LiveLimits.nonceBytes))
        // Leave room for the longest counter, so that the document can always be sealed again.
        let bytes = sealed.ciphertext.count - "\(counter)".utf8.count + "\(Int64.max)".utf8.count
        guard bytes <= Limits.profileDocumentBytesMax else { throw .tooLong }
        let body = try await self.documentBody { (server, token) throws(LinkError) in
            try await server.put(
                Self.path(of: name, link.id), DocumentBody.encode(sealed),
                if: version == 0 ? .isNew : .matches("\"\(version)\""), bearer: token)
        }
        guard let written = DocumentBody.written(body) else { throw .server(status: 0) }
        let news = SeenDocument(version: written.version, counter: counter)
        // Another device may have written since, and this device may have seen its document.
        _ = try self.kept { try $0.note(news, as: name, of: link.id) }
        return ProfileDocument(
            name: name, version: written.version, updatedAt: Timestamp(milliseconds: written.updatedAt),
            content: content)
    }

    private static func path(of name: ProfileDocumentName, _ profile: UUIDText) -> String {
        Self.path(of: profile) + "/documents/\(name.rawValue)"
    }

    private func documentBody(
        _ ask: (any ServerLink, String) async throws(LinkError) -> HTTPAnswer
    ) async throws(LiveError) -> [UInt8] {
        guard let token else { throw .offline }
        let answer: HTTPAnswer
        do throws(LinkError) { answer = try await ask(self.server, token.token) } catch { throw .unreachable(error) }
        guard answer.status != 412 else { throw .changed }
        // The server's limit is lower for a profile whose members have no peers.
        guard answer.status != 413 else { throw .tooLong }
        return try Self.profileBody(of: answer)
    }

    /// Another device has changed our profile. Notices about other profiles are ignored.
    func take(_ changed: ProfileChanged) {
        guard let own = try? self.live.profile().id, own == changed.profileID else { return }
        self.publish(.passing(.profile(own, changed.change)))
    }
}
