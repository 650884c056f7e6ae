package import Contract
import Logging

/// A change of a group, applied as a whole or not at all.
package struct GroupUpdateOrder: Sendable, Equatable {
    package var title: String?
    package var added: [WhisperID]
    package var removed: [WhisperID]
    /// `.owner` cannot be given: the owner changes by leaving alone.
    package var roles: [WhisperID: GroupRole]

    package init(
        title: String? = nil, added: [WhisperID] = [], removed: [WhisperID] = [], roles: [WhisperID: GroupRole] = [:]
    ) {
        self.title = title
        self.added = added
        self.removed = removed
        self.roles = roles
    }

    /// In the order in which they are written and signed.
    var sortedRoles: [(key: WhisperID, value: GroupRole)] { self.roles.sorted { $0.key < $1.key } }
}

/// Why a group was not made or changed.
package enum GroupError: Error, Equatable {
    /// There is no session now.
    case offline
    /// No answer in time. It may have been done: then the group event comes.
    case noAnswer
    case refused(ErrorCode?)
    /// Nobody here knows this group.
    case unknownGroup
    case notMember
    /// The other members are verified: that the person was shown the newcomers is not enough.
    case notAgreed
    case store(ClientStoreError)
}

/// Groups: made, changed, and known as the server tells of them.
package final class KnownGroups {
    private let keys: IdentityKeys
    private let store: ClientStore
    private let logger: Logger
    let signal = WorkSignal()

    init(keys: IdentityKeys, store: ClientStore, logger: Logger) {
        self.keys = keys
        self.store = store
        self.logger = logger
    }

    package func create(
        title: String, members: [WhisperID], _ host: isolated some MailHost
    ) async throws(GroupError) -> Group {
        guard host.token != nil else { throw .offline }
        let signed = self.keys.pair.signed(
            GroupUpdateOrder(title: title, added: members), of: nil, revision: 0, at: host.serverNow)
        return try await self.group(by: GroupCreate(signed), adding: members, to: nil, host)
    }

    /// - Parameter id: in lower case, with its prefix.
    package func update(
        _ id: String, _ update: GroupUpdateOrder, _ host: isolated some MailHost
    ) async throws(GroupError) -> Group {
        guard host.token != nil else { throw .offline }
        let group: Group?
        do { group = try self.store.groups.group(id) } catch { throw .store(error) }
        guard let group, let uuid = GroupIDText.uuid(group.id) else { throw .unknownGroup }
        guard group.isMember else { throw .notMember }
        let signed = self.keys.pair.signed(update, of: group.id, revision: group.revision, at: host.serverNow)
        return try await self.group(by: GroupUpdate(signed, of: uuid), adding: update.added, to: id, host)
    }

    package func leave(_ id: String, _ host: isolated some MailHost) async throws(GroupError) -> Group {
        guard let ownID = host.id else { throw .offline }
        return try await self.update(id, GroupUpdateOrder(removed: [ownID]), host)
    }

    /// - Parameters:
    ///   - members: whom the person here adds, as nobody else can know.
    ///   - id: `nil` for a group to be made.
    private func group(
        by frame: some ClientFrame, adding members: [WhisperID], to id: String?,
        _ host: isolated some MailHost
    ) async throws(GroupError) -> Group {
        let answer: (any ServerFrame)?
        do { try self.store.newcomers.expect(members, in: id) } catch { throw .store(error) }
        do throws(LiveError) {
            answer = try await host.ask(frame)
        } catch {
            // Without an answer it may have been done.
            let refusal: GroupError
            switch error {
            case .offline: refusal = .offline
            case .refused(let code, _): refusal = .refused(code)
            default: throw .noAnswer
            }
            do { try self.store.newcomers.expectNobody(in: id) } catch { throw .store(error) }
            throw refusal
        }
        guard let event = answer as? GroupEvent, let ownID = host.id else { throw .noAnswer }
        let group = Group(event.group, ownID: ownID)
        do {
            try self.store.newcomers.expectNobody(in: id)
            return try self.store.groups.group(group.id) ?? group
        } catch {
            throw .store(error)
        }
    }

    /// The person here has seen these members: what waits for them goes.
    /// - Parameter isAgreed: whether the person was asked, and not only shown.
    /// - Throws: `.notAgreed` if that is needed.
    package func admit(
        _ members: [WhisperID], to id: String, isAgreed: Bool, _ host: isolated some MailHost
    ) throws(GroupError) -> Group {
        do {
            guard let group = try self.store.groups.group(id) else { throw GroupError.unknownGroup }
            let newcomers = members.filter(group.newcomers.contains)
            guard !newcomers.isEmpty else { return group }
            guard isAgreed || !group.areOthersVerified else { throw GroupError.notAgreed }
            guard let ready = try self.store.newcomers.admit(newcomers, to: id),
                let admitted = try self.store.groups.group(id)
            else {
                return group
            }
            host.publish(.group(admitted, GroupChange()))
            host.outbox.queued(ready, host)
            return admitted
        } catch let error as GroupError {
            throw error
        } catch {
            throw .store(error as? ClientStoreError ?? .failed("\(error)"))
        }
    }

    // MARK: What the server tells

    func take(_ event: GroupEvent, _ host: isolated some MailHost) {
        guard let ownID = host.id else { return }
        let group = Group(event.group, ownID: ownID)
        var change = GroupChange(actor: event.actor, added: event.added, removed: event.removed)
        host.withStore {
            change.vouched = try self.vouched(for: event)
            self.keep(group, change, host)
            // The list may have brought this revision before its event, which alone says who vouches for whom.
            if try self.store.groups.group(group.id)?.revision == group.revision {
                _ = try? self.admit(change.vouched.sorted(), to: group.id, isAgreed: true, host)
            }
        }
    }

    /// The members that the actor's signature adds. It counts if the actor's keys are pinned here, and the actor was
    /// known here as somebody who may add. Our own changes need no signature.
    private func vouched(for event: GroupEvent) throws(ClientStoreError) -> Set<WhisperID> {
        guard let signed = event.signed, let actor = try self.store.contacts.contact(event.actor),
            event.isSigned(by: actor.keys)
        else { return [] }
        guard event.event == .updated else { return Set(signed.added).union([actor.id]) }
        let id = Conversation.key(ofGroup: "\(GroupIDText.prefix)\(event.group.groupID)")
        guard let known = try self.store.groups.group(id), !known.newcomers.contains(actor.id),
            let role = known.role(of: actor.id), role != .member
        else { return [] }
        return Set(signed.added)
    }

    private func keep(_ group: Group, _ change: GroupChange, _ host: isolated some MailHost) {
        host.withStore {
            if let kept = try self.store.groups.keep(group, change) { host.publish(.group(kept, change)) }
        }
    }

    // MARK: What is to be asked

    /// Asks for the list of groups if it is owed, and for the keys of members. One at a time, as long as a connection lives.
    func work(_ host: isolated some MailHost) async {
        do {
            if try self.store.groups.owesGroupList() { try await self.list(host) }
        } catch {
            self.logger.debug("the list of groups could not be fetched")
        }
        await self.lookUpMembers(host)
    }

    private func list(_ host: isolated some MailHost) async throws {
        let known = try self.store.groups.groupRevisions()
        var ids: Set<String> = []
        var cursor: String?
        // The server ends its list long before this bound.
        for _ in 0..<ClientLimits.groupPagesMax {
            guard host.token != nil, let ownID = host.id else { return }
            guard let page = try await host.ask(GroupList(cursor: cursor)) as? Groups else { return }
            for description in page.groups {
                let group = Group(description, ownID: ownID)
                ids.insert(group.id)
                self.keep(group, GroupChange(), host)
            }
            cursor = page.nextCursor
            guard cursor == nil else { continue }
            for left in try self.store.groups.groupsListed(ids, known: known, ownID: ownID) {
                host.publish(.group(left, GroupChange()))
            }
            return
        }
    }

    /// Fetches the keys of members for whom a copy waits.
    private func lookUpMembers(_ host: isolated some MailHost) async {
        var tried: Set<WhisperID> = []
        while host.isOnline, !Task.isCancelled, tried.count < ClientLimits.groupMembersLookedUpMax {
            let member = host.withStore { try self.store.deliveries.memberWithoutKeys(except: tried) } ?? nil
            guard let member else { return }
            do throws(ContactError) {
                // Queues what waits for them.
                _ = try await host.contacts.fetchAndPin(member, name: nil, isStranger: true, host)
                host.pump()
            } catch {
                switch error {
                case .noSuchPerson: host.outbox.giveUpCopies(to: member, .noSuchPerson, host)
                case .foreignKeys, .changedKeys: host.outbox.giveUpCopies(to: member, .badKey, host)
                case .store(let error): return host.storeFailed(error)
                case .server, .unreachable:
                    // Mostly too many questions at once. The others have their turn later too.
                    try? await Task.sleep(for: ClientLimits.memberLookupPause)
                case .offline, .isSelf, .nameTaken: tried.insert(member)
                }
            }
        }
    }
}
