package import Contract

/// Events for the application. Lasting data is stored before its event, so a lost event loses none.
package enum ClientEvent: Sendable, Equatable {
    case connection(ConnectionStatus)
    /// The waiting mail has all been fetched.
    case caughtUp
    case received(Message)
    /// A message of ours moved on, or what a message says was changed.
    case changed(Message)
    /// Somebody came back from the backup, or a contact was changed; the keys fit the id and are pinned.
    case contact(Contact)
    /// A stranger wrote first; the keys fit the id and are pinned.
    case request(Contact)
    /// A group is new, or has changed: members, roles, title.
    case group(Group, GroupChange)
    /// The backup of the contacts was read; there may have been none. The keys of those missing could not be had yet:
    /// they stay in the backup and are asked for again.
    case restored(added: Int, missing: Int)
    case backup(BackupNews)
    case live(ConversationID, LiveNews)
    case room(UUIDText, RoomNews)
    case passing(PassingNews)
    /// Something that must be shown loudly: what came is not to be trusted.
    case alarm(Alarm)

    /// Whether a message has a time now, or something was deleted.
    var mayBringExpiry: Bool {
        switch self {
        case .received(let message), .changed(let message):
            message.expires != nil || message.isEdited || message.content == .deleted
        case .passing(.chat): true
        default: false
        }
    }
}

package enum ConnectionStatus: Sendable, Equatable {
    case connecting
    case online
    /// The next attempt is due after `retryIn`. The text is for people.
    case away(why: String, retryIn: Duration)
    /// `run` has returned, or is about to.
    case stopped(StopReason)
}

/// State of the contacts' backup. A failure that lasts is reported once.
package enum BackupNews: Sendable, Equatable {
    /// The server has all changes up to its writing.
    case written
    /// Our words do not open what the server has, or it is no list that this release knows. It is never written over.
    case unreadable
    /// More than the server takes. The backup of before stays.
    case tooLarge(bytes: Int)
    /// The server does not take it. The number is the HTTP status.
    case refused(status: Int)
}

package enum Alarm: Sendable, Equatable {
    /// Mail that does not verify, or is too old to be new. It is kept apart and shown nowhere.
    /// Told once for each sender and reason while the client runs, with the number of such messages that ever came.
    case suspiciousMail(Suspicion, count: Int)
    /// The server gave out keys that do not belong to this id. They were not used.
    case foreignKeys(of: WhisperID)
    /// The server gave out other keys than the pinned ones. The pinned ones stay.
    case changedKeys(of: WhisperID)

    /// Alarms with the same key are published once while the client runs.
    var key: String {
        switch self {
        case .suspiciousMail(let suspicion, _): "\(suspicion)"
        case .foreignKeys(let id): "foreign \(id)"
        case .changedKeys(let id): "changed \(id)"
        }
    }
}

/// Why a message was not taken for sending. Nothing was stored.
package enum SendError: Error, Equatable {
    case empty
    /// More than `ClientLimits.textBytesMax` bytes.
    case tooLong(bytes: Int)
    case toSelf
    /// Add the contact first: without keys there is nothing to encrypt for.
    case unknownContact
    case bannedContact
    /// Blocked here.
    case blockedContact
    /// Nobody has told us of it.
    case unknownGroup
    /// We have left it, or were removed.
    case notMember
    case store(ClientStoreError)
}

/// Why a message was not changed. Nothing was stored.
package enum ChangeError: Error, Equatable {
    case refused(ChangeRefusal)
    case send(SendError)
}

/// Why a contact was not added.
package enum ContactError: Error, Equatable {
    case isSelf
    case noSuchPerson
    /// Keys can be asked for with a session only.
    case offline
    /// The server's keys are not those of the id, or not the pinned ones. Refused, and an `Alarm` was raised.
    case foreignKeys
    case changedKeys
    case nameTaken
    /// The server answered something else. The number is the HTTP status, 0 for an unreadable body.
    case server(status: Int)
    case unreachable(LinkError)
    case store(ClientStoreError)
}
