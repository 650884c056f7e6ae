import Contract
import ContractSchema

/// `docs/protocol.md`: the contract for people who write a client.
package enum ProtocolPage {
    package static var text: String {
        let sections =
            [Self.opening, Self.transport, Self.types, Self.order, Self.codes, Self.limits, Self.identity]
            + Self.chapters + [Self.http(after: Self.firstChapter + Self.chapters.count - 1), Self.machines]
        return sections.joined(separator: "\n\n") + "\n"
    }

    /// A table in Markdown.
    static func table(_ head: [String], _ rows: [[String]]) -> String {
        let lines = [head, head.map { _ in "---" }] + rows
        return lines.map { "| " + $0.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |" }
            .joined(separator: "\n")
    }

    static func example(_ document: Document) -> String { "```json\n\(document.text())\n```" }

    private static let opening = """
        # The Whisper protocol

        Whisper carries messages between identities over one WebSocket, and a little over HTTP. The server never sees what is
        said: clients encrypt for each recipient and sign what they send. This page says what travels, in both directions, and
        what the server answers. It is generated from the contract's definition in `Shared/Contract`, like the other files listed
        at its end: do not edit them, run `make documents`.
        """

    private static let transport = """
        ## 1. Connecting

        `GET /ws` upgrades to a WebSocket. Every message is one text message with one JSON object, the *frame*:

        ```json
        {"type": "ping", "requestId": "41", "payload": {}}
        ```

        - `type` says which frame it is, `payload` is an object, both are required.
        - `requestId` is optional: \(Limits.requestIDCharacters.lowerBound) to \(Limits.requestIDCharacters.upperBound) printable ASCII characters. Every direct answer repeats it at top level, an `error` also in its payload.
        - Unknown members and fields are ignored; they are never stored or passed on. `null` equals absent for optional fields.
        - A field given twice, or a string with half a surrogate pair, makes the frame invalid. Integers are written without fraction or exponent.
        - Frames have at most \(Limits.frameBytesMax.grouped) bytes and nest at most \(Limits.jsonDepthMax) deep.
        - The server pings every \(Limits.serverPingInterval.components.seconds) s. A client from which nothing comes for \(Limits.idleTimeout.components.seconds) s, not even a pong, is closed.

        A connection is *bound* to an identity by `register_ack`, or by the first valid frame that carries a session token. Another
        identity on the same connection is refused with AUTH_FAILED and close 4001. Binding brings what was kept for the identity:
        delivery statuses, group events, ringing calls. Pending mail comes with `fetch_pending` only.
        """

    private static let types = """
        ## 2. Types

        \(table(["written here", "means"], [
            ["V", "`protocolVersion` and `cryptoVersion`, both the integer 1. Anything else is INVALID_PAYLOAD."],
            ["S", "`sessionToken`: 32..64 characters `A-Z a-z 0-9 _ -`. Every frame with S needs one; missing, empty, unknown or expired is NOT_REGISTERED."],
            ["WID", "A Whisper ID: `WSP-XXXX-XXXX-XXXX`, X of `A-Z2-7`."],
            ["UUID", "8-4-4-4-12 hex digits of either case. Passed on as written, compared without regard to case."],
            ["GID", "A group's id: `grp-` and a UUID."],
            ["TS", "Integer milliseconds since 1970, from 1 to \(Int(Limits.timestamps.upperBound).grouped)."],
            ["b(n)", "Standard padded base64 of exactly n bytes; b(m..n) of m to n bytes. Canonical: no line breaks, no stray bits."],
            ["text(m..n)", "m to n Unicode scalars, without NUL."],
            ["optional", "May be absent; `null` is the same as absent."],
        ]))
        """

    private static let order = """
        ## 3. What is checked, in this order

        The first check that fails decides the answer.

        1. At most \(Limits.frameBytesMax.grouped) bytes (else close 1009), UTF-8 (else 1007), JSON, envelope, known type, fields, versions: **INVALID_PAYLOAD**.
        2. The buckets of connection and address: **RATE_LIMITED**.
        3. The session: **NOT_REGISTERED**.
        4. A ban: **USER_BANNED**.
        5. `from` is the session's own id: **FORBIDDEN**.
        6. The signature: **AUTH_FAILED**.
        7. Already accepted (same `from`, `messageId` and `to`): the same answer again, whatever the time, for 14 days with the same `timestamp`, for one day with another. Nothing is stored or sent twice.
        8. The timestamp of a signed frame is within \(Int(Limits.timestampSkewMilliseconds).grouped) ms of the server's: **INVALID_TIMESTAMP**.
        9. The identity's rate: **RATE_LIMITED**.
        10. Recipient, group, membership: **NOT_FOUND**, **FORBIDDEN**.
        11. The durable commit, then the answer. **INTERNAL_ERROR** means: not accepted, safe to retry with the same id.
        """

    private static let codes = """
        ## 4. Errors and close codes

        An `error` frame never closes the connection unless a close code is named for the case.

        \(table(["code", "HTTP", "meaning"], ErrorCode.allCases.map { ["`\($0.rawValue)`", "\($0.httpStatus)", $0.meaning] }))

        \(table(["close code", "why"], CloseCode.allCases.map { ["\($0.rawValue)", $0.meaning] }))
        """

    private static let limits = """
        ## 5. Limits

        \(table(["limit", "value"], [
            ["frame from a client", "\(Limits.frameBytesMax.grouped) bytes"],
            ["ciphertext of a `text` message", "1..\(Limits.textCiphertextBytesMax.grouped) bytes, decoded"],
            ["ciphertext of any other message", "1..\(Limits.ciphertextBytesMax.grouped) bytes, decoded"],
            ["`pending_messages`, the whole frame", "\(Limits.pageBytesMax.grouped) bytes"],
            ["messages in a page", "1..\(Limits.fetchPendingMax), \(Limits.fetchPendingDefault) unless asked otherwise"],
            ["`GET /mail`: messages, and their bytes together", "1..\(Limits.mailPeekMessages.upperBound); 1..\(Int(Limits.mailPeekBytes.upperBound).grouped) bytes"],
            ["mail waits for its recipient", "\(Limits.pendingTTL.components.seconds / 3_600) h"],
            ["a session lasts", "\(Limits.sessionTTL.components.seconds / 86_400) d"],
            ["a challenge lasts", "\(Limits.challengeTTL.components.seconds) s"],
            ["timestamps of signed frames", "±\(Limits.timestampSkewMilliseconds / 1_000) s"],
            ["frames of one connection", "\(Limits.framesPerSecond) per second, bursts of \(Limits.framesBurst)"],
            ["open connections from one address to one gateway", "\(Limits.connectionsPerAddressMax)"],
            ["members of a group", "\(Limits.groupMembersMax)"],
            ["groups that an identity owns; is in; is in because a stranger added it", "\(Limits.groupsOwnedMax); \(Limits.groupsJoinedMax.grouped); \(Limits.groupsByStrangersMax)"],
            ["additions to groups of identities that are not the actor's peers", "\(Limits.groupStrangersPerDayMax) in 24 h"],
            ["groups in a page; `groups`, the whole frame", "1..\(Limits.groupListMax), \(Limits.groupListMax) unless asked otherwise; \(Limits.pageBytesMax.grouped) bytes"],
            ["group events wait; before some are confirmed", "\(Limits.groupEventTTL.components.seconds / 86_400) d; \(Limits.groupEventsBytesMax.grouped) bytes of payloads"],
            ["encrypted file: image/*, audio/*, other", "\(Int(Limits.imageBytesMax).grouped), \(Int(Limits.audioBytesMax).grouped), \(Int(Limits.fileBytesMax).grouped) bytes"],
            ["ciphertext of a contacts backup", "\(Limits.backupBytesMax.grouped) bytes"],
        ]))

        Rates, each counted for one identity or one address (IPv4, or the /64 of IPv6). They are
        defaults: operators may change each of them, and scale all.

        \(table(["what", "per minute", "at once", "counted by", "while the counters are away"], Rates.all.map {
            ["`\($0.action)`", $0.period == .minute ? "\($0.uses)" : "\($0.uses) a \($0.period.rawValue)", "\($0.burst)", $0.per.rawValue, $0.failsClosed ? "refused" : "each process counts for itself"]
        }))
        """

    private static let identity = """
        ## 6. Keys, ids and signatures

        One seed phrase (BIP39, 12 words, no passphrase) gives everything: `seed` is the 64-byte BIP39 seed, and each key is
        HKDF-SHA256 of it with salt `whisper`, 32 bytes.

        \(table(["info", "is"], [
            ["`whisper/enc`", "the X25519 private key (`encSeed`)"], ["`whisper/sign`", "the Ed25519 seed (`signSeed`)"],
            ["`whisper/contacts`", "the key of the contacts backup"],
        ]))

        **Whisper ID.** Ten symbols of `A-Z2-7` are the first 50 bits of SHA-256(`whisper-id\\n` ‖ sign key ‖ enc key ‖ counter byte).
        Two more are the first 10 bits of SHA-256(`whisper-id-check\\n` ‖ those ten, as ASCII). Written `WSP-` and 4-4-4. The counter starts at 0
        and grows only when an id is taken; the server decides. A client checks that keys belong to an id by trying counters.

        **Signatures** of messages and calls cover these lines, as UTF-8, each followed by a line feed, every value just as it stands in the
        frame:

        ```
        v1
        type            send_message, group_send_message, call_initiate, call_answer, call_ice_candidate or call_end
        messageId       of a call: the callId
        from
        to              of group mail: the groupId
        timestamp
        nonce
        ciphertext
        ```

        `sig` is Ed25519 (RFC 8032, strict: S below the group's order, no keys of small order) over the SHA-256 of those bytes. A login
        challenge is signed itself, all 32 bytes, and only if it begins with `whisper-register`.

        **Signatures of groups** are optional. Who makes or changes a group signs these lines in the same way. `groupId` is in lower case; of a
        new group it is empty, and its revision is 0.

        ```
        v1
        group
        groupId
        revision        before the change
        digest          base64 of the SHA-256 of the change
        timestamp
        ```

        The change is four lines, each followed by a line feed, with lists joined by commas. Empty parts stay as empty lists.

        ```
        add WSP-AAAA-AAAA-AAAA,WSP-F4YH-3J4Z-7RP7
        remove
        role WSP-AAAA-AAAA-AAAA=admin
        title Hiking
        ```

        A space follows each of the four words. The server keeps `actorSig` with the event, hands it on and does not check it. Members check it: it
        vouches for those who were added.

        **Pushes** have no content: a `wakeId`, a `kind`, and a `tag` if the identity has shown a `wakeSecret` (`update_tokens`). The tag is the first 8
        bytes of HMAC-SHA256 with the secret, in base64url, over this text and the wake id in lower case:

        ```
        whisper/wake
        0f8fad5b-d9cb-469f-a165-70867728950e
        ```

        No line feed follows the id. A phone with several identities tries each secret (`vectors/wake.json`).

        **Encryption** is NaCl's: `box` from sender to recipient for messages and file keys, `secretbox` for files and the contacts backup, with
        random nonces of 24 bytes. The server takes no part in it.
        """

    private static let machines = """
        ## For machines

        \(table(["file", "is"], [
            ["`schemas/client/*.json`, `schemas/server/*.json`", "JSON Schema 2020-12 of every frame. They accept what the server accepts."],
            ["`asyncapi.json`", "the WebSocket, AsyncAPI 3.0"], ["`openapi.json`", "HTTP, OpenAPI 3.1"],
            ["`vectors/keys.json`", "phrases, seeds, keys, ids"],
            ["`vectors/signatures.json`", "canonical bytes, digests, signatures, challenges, forgeries"],
            ["`vectors/boxes.json`", "box and secretbox"], ["`vectors/wake.json`", "tags of pushes"],
            ["`vectors/frames.json`", "frames that must be accepted, and frames that must be refused, with the error code"],
            ["`vectors/live.json`", "live conversations: keys, boxes, signatures, packets, texts, safety numbers"],
        ]))

        JSON Schema speaks of values, not of how they are spelled. What it leaves to the reader:

        \(JSONSchema.silences.map { "- \($0)" }.joined(separator: "\n"))
        """
}
