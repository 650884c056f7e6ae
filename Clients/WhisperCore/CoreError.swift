import Contract

/// Why the core did not do what it was asked. Nothing was changed, unless `code` says otherwise.
public struct CoreError: Error, Sendable, Equatable {
    /// A word for programs. It never changes its meaning; later releases may add others.
    public enum Code: String, Sendable, CaseIterable {
        // The call.
        case closed, forked, suspended, busyReader, tooMany
        case tooLong, invalidCommand, unknownVerb, invalidField, notReadOnly
        // Opening.
        case config, locked, wrongKey, notADatabase, damaged, needsUpgrade, needsDowngrade, tooNew, unsupported
        // The identity.
        case noIdentity, identityExists, words
        // Links.
        case otherServer, newerLink
        // The subject of a verb.
        case unknownContact, bannedContact, blockedContact, toSelf, conflict, notFound, notText, unknownConsumer
        // Profiles.
        case inUse, changed, outdated, unreadable, managed
        // Calls, and things that programs hold open.
        case busy, wrongStage
        // Groups.
        case notMember, notAgreed
        // The server and its answers.
        case offline, banned, unreachable, server, foreignKeys, changedKeys, nameTaken
        case forbidden, rateLimited
        // Files.
        case file, tooLarge
        // The device.
        case store, `internal`
    }

    public var code: Code
    /// For people, in English. It repeats no text, key or word that was given.
    public var message: String
    /// The parameter that is wrong, if one is.
    public var field: String?
    /// With `unknownVerb`: verbs with similar names.
    public var similar: [String] = []
    /// With `locked`: the process that has the folder open, if it has recorded its id.
    public var pid: Int?
    /// With `needsUpgrade`: migrations to apply. With `needsDowngrade`: migrations to undo.
    public var steps: Int?

    init(_ code: Code, _ message: String? = nil, field: String? = nil) {
        self.code = code
        self.message = message ?? code.about
        self.field = field
    }

    /// Whether the same call may do better later, without anybody changing anything.
    public var isRetryable: Bool { self.code.isRetryable }

    /// Says which parameter of a verb is meant, where the error is about a person or a chat.
    func naming(_ verb: Verb) -> CoreError {
        guard self.field == nil, self.code.isOfPerson else { return self }
        var error = self
        error.field = Self.persons.first { name in verb.parameters.fields.contains { $0.name == name } }
        return error
    }

    /// How verbs call the person or the chat that they are about.
    private static let persons = ["to", "chat", "whisperId", "groupId", "members", "add"]

    func write(_ json: inout JSONWriter) {
        json.add("code", self.code.rawValue)
        json.add("message", self.message)
        json.add("retryable", self.isRetryable)
        json.add("field", self.field)
        if !self.similar.isEmpty { json.add("similar", strings: self.similar) }
        if let pid { json.add("pid", Int64(pid)) }
        if let steps { json.add("steps", Int64(steps)) }
    }
}

extension CoreError.Code {
    package var isRetryable: Bool {
        switch self {
        case .tooMany, .locked, .offline, .unreachable, .server, .store: true
        case .rateLimited: true
        default: false
        }
    }

    /// Whether it is about somebody whom the verb names.
    fileprivate var isOfPerson: Bool {
        switch self {
        case .unknownContact, .bannedContact, .blockedContact, .toSelf, .foreignKeys, .changedKeys, .notMember,
            .notFound:
            true
        default: false
        }
    }

    /// Meaning of the code, for `docs/core.md`.
    package var about: String {
        switch self {
        case .closed: "There is no such handle, or it was closed."
        case .forked: "The process is a fork of the one that opened the core. Open another core here."
        case .suspended: "The core is suspended. Resume it first."
        case .busyReader: "Another thread reads events of this handle, or another program those of this consumer."
        case .tooMany: "A bound is reached."
        case .tooLong: "The command or a text is too long."
        case .invalidCommand: "The command is not a verb, or a verb and one JSON object, in UTF-8."
        case .unknownVerb: "There is no such verb."
        case .invalidField: "A parameter is missing, unknown, given twice, or not of its type."
        case .notReadOnly: "The verb changes something: send it."
        case .config: "The configuration cannot be used."
        case .locked: "Another process, or another handle, has the folder open."
        case .wrongKey:
            "The store is sealed with another key, or no key was given and it is sealed. A file is not what was sealed with this key."
        case .notADatabase: "The store is something else than a store."
        case .damaged:
            "The store is empty, is no file, or is missing beside its phrase, or the phrase is. Nothing was begun in its place."
        case .needsUpgrade: "An earlier release has written the store. Open it with yesUp."
        case .needsDowngrade:
            "A later release has written the store. Open it with yesUpDown, which loses what only that release knows."
        case .tooNew: "A later release has written the store, and has left no way back."
        case .unsupported: "This release cannot do that."
        case .noIdentity: "There is no identity in the folder yet."
        case .identityExists: "There is an identity in the folder already."
        case .otherServer: "The link is of another server. Nobody was asked."
        case .newerLink: "A later release has written the link."
        case .words: "The words are not a phrase of twelve words."
        case .unknownContact: "Add the contact first."
        case .bannedContact: "The contact is banned."
        case .blockedContact: "The contact is blocked."
        case .toSelf: "That is your own Whisper ID."
        case .conflict: "The id belongs to another message already."
        case .notFound: "There is nothing of this name."
        case .notText: "The message is no text, or it was deleted."
        case .unknownConsumer: "There is no such consumer, or no event of this number yet."
        case .inUse: "Live conversations of our own are in use here, and belong to our profile. Delete them first."
        case .changed: "Another device has written the document since it was read here. Read it, and write again."
        case .outdated: "The server shows an older document than was seen here. It is not written over."
        case .managed: "The core writes the documents of the profile by itself."
        case .unreadable: "Our keys do not open what the server has."
        case .busy: "There is another call, or another program has it open."
        case .wrongStage: "The call, or the phone nearby, is not at a stage in which this can be done."
        case .notMember: "You are no member of this group."
        case .notAgreed: "The other members are verified: ask the person before you admit somebody."
        case .offline: "There is no session with the server now."
        case .banned: "The server has banned this identity."
        case .unreachable: "The server cannot be reached."
        case .server: "The server gave another answer than expected."
        case .foreignKeys: "The server gave out keys that do not belong to the id. They were not used."
        case .changedKeys: "The server or a link has other keys than the pinned ones. The pinned ones stay."
        case .nameTaken: "Another contact has this name."
        case .forbidden: "The server does not allow it to us."
        case .rateLimited: "The server has heard too much of this kind. Try again in a minute."
        case .file: "The file cannot be read, or cannot be made."
        case .tooLarge: "The server takes no file of this size and type."
        case .store: "The store cannot be read or written."
        case .internal: "The core has a fault."
        }
    }
}
