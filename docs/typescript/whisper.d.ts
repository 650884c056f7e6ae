// Whisper 0.1.0. Generated from the contract by `make documents`: do not edit it.
// Bounds of lengths and numbers stand in the comments; docs/schemas has them for validators.

/** `WSP-` and three groups of four characters A-Z, 2-7. */
export type WhisperID = `WSP-${string}-${string}-${string}`
export type UUID = `${string}-${string}-${string}-${string}-${string}`
export type GuestID = `gst-${string}`
export type GroupID = `grp-${string}-${string}-${string}-${string}-${string}`
/** Milliseconds since 1970. */
export type Timestamp = number
/** Canonical base64. */
export type Base64 = string
export type ErrorCode = "NOT_REGISTERED" | "AUTH_FAILED" | "INVALID_PAYLOAD" | "INVALID_TIMESTAMP" | "RATE_LIMITED" | "USER_BANNED" | "NOT_FOUND" | "FORBIDDEN" | "INTERNAL_ERROR"
export type RefusalReason = "registrationClosed" | "invitationNeeded" | "invitationInvalid" | "erased" | "confirmationMismatch"
/** Why the server closes the WebSocket. */
export type CloseCode = 1000 | 1001 | 1002 | 1003 | 1007 | 1008 | 1009 | 4001 | 4003 | 4008 | 4010 | 4029

export declare namespace Client {
  /** Starts a login, of a new identity or a known one. The challenge is bound to connection, device and platform. */
  interface RegisterBegin {
    type: "register_begin"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      /** The identity that logs in, if the client knows it. */
      whisperId?: WhisperID | null
      /** Made once by each installation. */
      deviceId: UUID
      platform: "ios" | "android"
      /** Kind of the program. Counted, and nothing depends on it. */
      client?: "phone" | "tablet" | "desktop" | "web" | "terminal" | "daemon" | "bot" | null
    }
  }
  /** Answers the challenge with a signature over its 32 raw bytes. Known keys log their identity in, whether or not `whisperId` is given: the seed phrase alone restores an identity. New keys become a new identity. An older session of the identity ends (4001). A failed proof uses the challenge up. */
  interface RegisterProof {
    type: "register_proof"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      challengeId: UUID
      /** Made once by each installation. */
      deviceId: UUID
      platform: "ios" | "android"
      whisperId?: WhisperID | null
      /** X25519, in canonical form: bit 255 clear, below 2^255 - 19. 32 bytes. */
      encPublicKey: Base64
      /** Ed25519. 32 bytes. */
      signPublicKey: Base64
      /** Ed25519 over the challenge's bytes. 64 bytes. */
      signature: Base64
      /** 1 to 512 characters. */
      pushToken?: string | null
      /** iOS only. 1 to 512 characters. */
      voipToken?: string | null
      /** 16 bytes in base64url. Only new keys need it, and only where registration is by invitation. 22 characters. */
      invitation?: string | null
      /** Kind of the program. Counted, and nothing depends on it. */
      client?: "phone" | "tablet" | "desktop" | "web" | "terminal" | "daemon" | "bot" | null
      /** Random bytes of this identity on this device. With them each push has the `tag` by which the app knows its identity. 16 bytes. */
      wakeSecret?: Base64 | null
    }
  }
  /** Begins a guest's proof of its keys. The challenge is bound to the connection and both keys. */
  interface GuestBegin {
    type: "guest_begin"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      /** Ed25519. 32 bytes. */
      signPublicKey: Base64
      /** X25519, in canonical form: bit 255 clear, below 2^255 - 19. 32 bytes. */
      encPublicKey: Base64
    }
  }
  /** Answers a guest's challenge with a signature over its 32 raw bytes. The same keys are the same guest. Its earlier token and its other connections end (4001). A failed proof uses the challenge up. */
  interface GuestProof {
    type: "guest_proof"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      challengeId: UUID
      /** Ed25519 over the challenge's bytes. 64 bytes. */
      signature: Base64
    }
  }
  /** Erases the guest: its keys, its rows as a listener and its seats in rooms. Others see it leave. The connection closes with 1000. If the answer is lost, the token is NOT_REGISTERED. A client forgets its keys when it has the answer. A proof of the same keys is RATE_LIMITED until the erasure is done, and then a new guest with the same id. */
  interface GuestForget {
    type: "guest_forget"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      guestToken?: string | null
    }
  }
  /** Asks for the next session token, within the last day of the current one. The old one dies on the first use of the new one or after 120 s; until then asking again gives the same new one. */
  interface SessionRefresh {
    type: "session_refresh"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
    }
  }
  /** Forgets the device's session and its push tokens. The connection closes with 1000. */
  interface Logout {
    type: "logout"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
    }
  }
  /** Asks for the challenge of an erasure. A new challenge takes the place of the earlier one. */
  interface AccountDeleteBegin {
    type: "account_delete_begin"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
    }
  }
  /** Erases the identity for good. There is no way back and no waiting time: its id and keys are never taken again. The signature is the identity's, over the SHA-256 of these lines, each with a line end: `v1`, `account_delete`, `challengeId`, `whisperId`, `sentMail`, and the challenge in base64. A failed attempt uses the challenge up. The connection closes with 1000. If the answer is lost, a login says `erased`. */
  interface AccountDelete {
    type: "account_delete"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      challengeId: UUID
      /** The session's own id. */
      whisperId: WhisperID
      /** Default `keep`. */
      sentMail?: "keep" | "withdraw" | null
      /** Ed25519 over the SHA-256 of the statement. 64 bytes. */
      signature: Base64
    }
  }
  /** Asks for the server's time, and shows that the client lives. Needs no session. */
  interface Ping {
    type: "ping"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      /** Comes back in the `pong`. */
      timestamp?: Timestamp | null
    }
  }
  /** Exchanges the device's push tokens. An absent one is kept, `null` clears it. A token is of the device that showed it last: up to eight of its identities share it. */
  interface UpdateTokens {
    type: "update_tokens"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** 1 to 512 characters. */
      pushToken?: string | null
      /** 1 to 512 characters. */
      voipToken?: string | null
      /** Random bytes of this identity on this device. With them each push has the `tag` by which the app knows its identity. 16 bytes. */
      wakeSecret?: Base64 | null
    }
  }
  /** One message for one person. The answer comes after the durable commit. Sending it again, with the same `messageId` and `to`, gives the same answer and delivers nothing twice. */
  interface SendMessage {
    type: "send_message"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** Unique for this sender and recipient. */
      messageId: UUID
      /** The session's own id. */
      from: WhisperID
      to: WhisperID
      msgType: "text" | "image" | "voice" | "file" | "system"
      /** The sender's clock. */
      timestamp: Timestamp
      /** 24 bytes. */
      nonce: Base64
      /** 1 to 262144 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
      /** The message that this one answers. */
      replyTo?: UUID | null
      reactions?: Record<string, WhisperID[]> | null
      attachment?: {
        /** As `POST /attachments/presign` gave it to the sender. 1 to 128 characters. */
        objectKey: string
        /** 1 to 100 characters. */
        contentType: string
        /** In bytes. 1 to 50000000. */
        ciphertextSize: number
        /** 24 bytes. */
        fileNonce: Base64
        /** The file's key, boxed for the recipient. */
        fileKeyBox: {
          /** 24 bytes. */
          nonce: Base64
          /** 1 to 256 bytes. */
          ciphertext: Base64
        }
      } | null
    }
  }
  /** Says that a message is stored, or read. Takes it out of the mailbox, so it never comes again. `read` implies `delivered`; the same status again, a lower one, or one about a message that was not for the caller is ignored. */
  interface DeliveryReceipt {
    type: "delivery_receipt"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      messageId: UUID
      /** The recipient of the message, who sends this. */
      from: WhisperID
      /** The sender of the message. */
      to: WhisperID
      status: "delivered" | "read"
      timestamp: Timestamp
    }
  }
  /** Asks for what waits in the mailbox, oldest first. Sent after every login and every reconnect: binding alone brings delivery statuses, group events and ringing calls, never pending mail. */
  interface FetchPending {
    type: "fetch_pending"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** The `nextCursor` of the page before. Opaque; survives deletions. 1 to 64 characters. */
      cursor?: string | null
      /** Messages in the page, 50 if absent. 1 to 100. */
      limit?: number | null
    }
  }
  /** Makes a group that the caller owns. The new members get the event too. */
  interface GroupCreate {
    type: "group_create"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** 1 to 64 characters. */
      title: string
      /** Everybody but the caller. 0 to 255 elements. */
      memberIds: Array<WhisperID>
      /** By the actor, over the change (see Signatures of groups). Only with `timestamp`. 64 bytes. */
      actorSig?: Base64 | null
      /** Of `actorSig`. */
      timestamp?: Timestamp | null
    }
  }
  /** Changes a group: all of it or nothing. Owner and admins add, remove and rename; only the owner gives roles; anyone may remove themselves, and if that is the owner the oldest admin, else the oldest member, takes over. Who owns as many groups as allowed is passed over. The last member's leaving ends the group. */
  interface GroupUpdate {
    type: "group_update"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      groupId: GroupID
      /** 1 to 64 characters. */
      title?: string | null
      /** 0 to 256 elements. */
      addMembers?: Array<WhisperID> | null
      /** 0 to 256 elements. */
      removeMembers?: Array<WhisperID> | null
      /** 0 to 256 elements. */
      roleChanges?: Array<{
        whisperId: WhisperID
        role: "admin" | "member"
      }> | null
      /** By the actor, over the change (see Signatures of groups). Only with `timestamp`. 64 bytes. */
      actorSig?: Base64 | null
      /** Of `actorSig`. */
      timestamp?: Timestamp | null
    }
  }
  /** Asks for the groups that the caller is a member of: its own first. Without `cursor`, for the first page. */
  interface GroupList {
    type: "group_list"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** The `nextCursor` of the page before. Opaque; survives changes. 1 to 64 characters. */
      cursor?: string | null
      /** Groups in the page, 100 if absent. 1 to 100. */
      limit?: number | null
    }
  }
  /** One message for one member of a group: a group message is one such frame for each member. Accepted and answered one by one. The canonical line `toOrGroupId` is the `groupId`. */
  interface GroupSendMessage {
    type: "group_send_message"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      groupId: GroupID
      /** May be the same for all recipients. */
      messageId: UUID
      /** The session's own id. */
      from: WhisperID
      to: WhisperID
      msgType: "text" | "image" | "voice" | "file"
      /** The sender's clock. */
      timestamp: Timestamp
      /** 24 bytes. */
      nonce: Base64
      /** 1 to 262144 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
      /** The message that this one answers. */
      replyTo?: UUID | null
      reactions?: Record<string, WhisperID[]> | null
      attachment?: {
        /** As `POST /attachments/presign` gave it to the sender. 1 to 128 characters. */
        objectKey: string
        /** 1 to 100 characters. */
        contentType: string
        /** In bytes. 1 to 50000000. */
        ciphertextSize: number
        /** 24 bytes. */
        fileNonce: Base64
        /** The file's key, boxed for the recipient. */
        fileKeyBox: {
          /** 24 bytes. */
          nonce: Base64
          /** 1 to 256 bytes. */
          ciphertext: Base64
        }
      } | null
    }
  }
  /** Shows a peer that the caller is writing. Reaches only identities with 1:1 traffic both ways in the last 30 days; anything else, more than one in 2 s to the same peer, and more than 120 a minute altogether, is dropped without a word. */
  interface Typing {
    type: "typing"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      to: WhisperID
      isTyping: boolean
    }
  }
  /** Reports an identity to the operators. Evidence is a received message as it came, group mail too: its signature is checked. Kept of it is what the signature covers: `messageId`, `from`, `to`, `groupId`, `timestamp`, `nonce`, `ciphertext` and `sig`. Other fields are dropped. It counts as verified if the server has accepted this message from `from` for the reporter within the last 14 days. Of one reporter 20 reports may be open, with 1048576 bytes of evidence. */
  interface Report {
    type: "report"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      targetId: WhisperID
      reason: "spam" | "abuse" | "other"
      /** 0 to 1000 characters. */
      note?: string | null
      /** The payload of a `message_received`. */
      evidence?: {
        messageId: UUID
        from: WhisperID
        to: WhisperID
        /** Group mail only. */
        groupId?: GroupID | null
        msgType: "text" | "image" | "voice" | "file" | "system"
        /** The sender's clock. */
        timestamp: Timestamp
        /** 24 bytes. */
        nonce: Base64
        /** 1 to 262144 bytes. */
        ciphertext: Base64
        /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
        sig: Base64
        /** The message that this one answers. */
        replyTo?: UUID | null
        reactions?: Record<string, WhisperID[]> | null
        attachment?: {
          /** As `POST /attachments/presign` gave it to the sender. 1 to 128 characters. */
          objectKey: string
          /** 1 to 100 characters. */
          contentType: string
          /** In bytes. 1 to 50000000. */
          ciphertextSize: number
          /** 24 bytes. */
          fileNonce: Base64
          /** The file's key, boxed for the recipient. */
          fileKeyBox: {
            /** 24 bytes. */
            nonce: Base64
            /** 1 to 256 bytes. */
            ciphertext: Base64
          }
        } | null
      } | null
    }
  }
  /** Calls somebody; `ciphertext` holds the offer. The callee gets `call_incoming`, at once or, woken by a push, as soon as the device is back. After 45 s without an answer both get `call_end` with reason `timeout`. */
  interface CallInitiate {
    type: "call_initiate"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      callId: UUID
      /** The session's own id. */
      from: WhisperID
      to: WhisperID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 24 bytes. */
      nonce: Base64
      /** 1 to 262144 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
      isVideo: boolean
    }
  }
  /** Takes a call; `ciphertext` holds the answer. Forwarded to the caller whole. */
  interface CallAnswer {
    type: "call_answer"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      callId: UUID
      /** The session's own id. */
      from: WhisperID
      to: WhisperID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 24 bytes. */
      nonce: Base64
      /** 1 to 262144 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
    }
  }
  /** One network path for the media. Forwarded to the other side; up to 64 are kept while it is away. */
  interface CallIceCandidate {
    type: "call_ice_candidate"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      callId: UUID
      /** The session's own id. */
      from: WhisperID
      to: WhisperID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 24 bytes. */
      nonce: Base64
      /** 1 to 262144 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
    }
  }
  /** Ends a call, or declines it. Forwarded to the other side. */
  interface CallEnd {
    type: "call_end"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      callId: UUID
      /** The session's own id. */
      from: WhisperID
      to: WhisperID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 24 bytes. */
      nonce: Base64
      /** 1 to 262144 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
      reason?: "ended" | "declined" | "busy" | "timeout" | "failed" | "cancelled" | null
    }
  }
  /** Asks for relays, and credentials that work for 11 to 12 hours. Within an hour they are the same. */
  interface GetTurnCredentials {
    type: "get_turn_credentials"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
    }
  }
  /** Makes a live conversation. Its id is made from its keys, and its `ciphertext` is what `look` shows to whoever has the link. The same again gets the same answer and changes nothing. */
  interface LiveCreate {
    type: "live_create"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** CID of contract §14.2. */
      conversationId: UUID
      profileId: UUID
      /** Ed25519. 32 bytes. */
      signPublicKey: Base64
      /** X25519. 32 bytes. */
      encPublicKey: Base64
      /** SHA-256 of the link's proof. 32 bytes. */
      linkVerifier: Base64
      /** How long lines are kept. 0: not at all. 0 to 365. */
      transcriptDays: number
      /** The sender's own id. */
      from: WhisperID | GuestID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 12 bytes. */
      nonce: Base64
      /** 17 to 2048 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
    }
  }
  /** Changes the link, the info or how long lines are kept: at least one of them. With a new `linkVerifier` old links open nothing more, and `info` must stand beside it. `info` is signed by `from`, `timestamp` and `sig`. */
  interface LiveUpdate {
    type: "live_update"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** CID of contract §14.2. */
      conversationId: UUID
      /** SHA-256 of the link's proof. 32 bytes. */
      linkVerifier?: Base64 | null
      /** How long lines are kept. 0: not at all. 0 to 365. */
      transcriptDays?: number | null
      /** As `ciphertext` of `live_create`. */
      info?: {
        /** 12 bytes. */
        nonce: Base64
        /** 17 to 2048 bytes. */
        ciphertext: Base64
      } | null
      /** The sender's own id. */
      from?: WhisperID | GuestID | null
      /** The sender's clock. */
      timestamp?: Timestamp | null
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig?: Base64 | null
    }
  }
  /** Deletes a conversation with all that belongs to it: its stream ends, its listeners are told. */
  interface LiveDelete {
    type: "live_delete"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** CID of contract §14.2. */
      conversationId: UUID
    }
  }
  /** Asks for all conversations of a profile. */
  interface LiveList {
    type: "live_list"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      profileId: UUID
    }
  }
  /** Asks for the state of a conversation and for its listeners. Those who are refused are not among them. */
  interface LiveRoster {
    type: "live_roster"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** CID of contract §14.2. */
      conversationId: UUID
    }
  }
  /** Asks to be admitted. `ciphertext` is a BOX for the conversation. Whoever is admitted with the newest keys is answered `live_admitted` at once. Everybody else waits until a device of the profile decides, for 10 minutes at most. When 50 wait, the oldest of the address with the most gives way: it is refused with `expired`. */
  interface LiveKnock {
    type: "live_knock"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      /** CID of contract §14.2. */
      conversationId: UUID
      /** From the secret in the link's fragment. 32 bytes. */
      linkProof: Base64
      /** Ed25519. 32 bytes. */
      signPublicKey: Base64
      /** X25519. 32 bytes. */
      encPublicKey: Base64
      /** The sender's own id. */
      from: WhisperID | GuestID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 12 bytes. */
      nonce: Base64
      /** 49 to 1024 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
    }
  }
  /** Admits listeners, and gives each the content key of `generation`: the present one, or the next, which is the present one from then on. Each grant has a signature of its own. One bad signature refuses all. */
  interface LiveGrant {
    type: "live_grant"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** CID of contract §14.2. */
      conversationId: UUID
      /** The sender's own id. */
      from: WhisperID | GuestID
      /** The newest content keys, from 1. 1 to 2147483647. */
      generation: number
      /** The sender's clock. */
      timestamp: Timestamp
      /** A BOX for each listener. 1 to 250 elements. */
      grants: Array<{
        /** The listener. */
        to: WhisperID | GuestID
        /** 12 bytes. */
        nonce: Base64
        /** 49 to 256 bytes. */
        ciphertext: Base64
        /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
        sig: Base64
      }>
    }
  }
  /** Sends somebody away who waits or listens. What the listener would have heard is dropped. Whoever is refused may knock again, unless the reason is `blocked`. */
  interface LiveRefuse {
    type: "live_refuse"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** CID of contract §14.2. */
      conversationId: UUID
      /** The listener. */
      to: WhisperID | GuestID
      reason: "declined" | "passcode" | "removed" | "blocked"
      /** The sender's own id. */
      from: WhisperID | GuestID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 12 bytes. */
      nonce: Base64
      /** 49 to 512 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
    }
  }
  /** Takes the stream of a conversation: the later device holds it. The `contentId` of a stream that has not ended resumes it. Another one ends it and begins a new stream. */
  interface LiveStart {
    type: "live_start"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** CID of contract §14.2. */
      conversationId: UUID
      /** Names one session of whispering. */
      contentId: UUID
    }
  }
  /** Ends a stream. Any device of the profile may. Another `contentId` than the present one is answered, and does nothing. */
  interface LiveStop {
    type: "live_stop"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      /** CID of contract §14.2. */
      conversationId: UUID
      /** Names one session of whispering. */
      contentId: UUID
    }
  }
  /** Begins to listen, for whoever is admitted and for devices of the conversation's own profile. Packets follow the answer: the text of now, or with `after` what has been missed. */
  interface LiveJoin {
    type: "live_join"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      /** CID of contract §14.2. */
      conversationId: UUID
      /** What the client has. */
      after?: {
        /** Names one session of whispering. */
        contentId: UUID
        /** 0 to 9007199254740991. */
        epoch: number
        /** 0 to 9007199254740991. */
        seq: number
        /** 0 to 2147483647. */
        line: number
      } | null
    }
  }
  /** Ends listening or waiting. The second time, and for any id, the answer is the same. */
  interface LiveLeave {
    type: "live_leave"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      /** CID of contract §14.2. */
      conversationId: UUID
      /** The server forgets the listener and its grant. */
      forget?: boolean | null
    }
  }
  /** A piece of a live conversation. Only the connection that holds the stream may send it. Its gateway passes it on as it is, to every listener that has joined, in the order of `seq`. A `seq` that is not above the last one is dropped without a word, and so is a `generation` below the stream's. */
  interface LivePacket {
    type: "live_packet"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      conversationId: UUID
      /** As `live_started` says. Each taking of the stream has its own. 1 to 9007199254740991. */
      epoch: number
      /** Grows by 1 with each packet of the epoch. With `to`: that of the latest packet to all. 1 to 9007199254740991. */
      seq: number
      /** The first of an epoch is a `snapshot`. */
      kind: "snapshot" | "diff" | "line" | "cue"
      /** A line's number, from 1. Of other kinds: how many lines are completed so far. 0 to 2147483647. */
      line: number
      /** Of the content key that seals it. 1 to 9007199254740991. */
      generation: number
      /** The only listener that gets it. For cues, and for lines that were asked for. */
      to?: WhisperID | GuestID | null
      /** 12 bytes. */
      nonce: Base64
      /** AES-256-GCM with its tag. The seal covers all fields above. 17 to 12288 bytes. */
      ciphertext: Base64
    }
  }
  /** Asks for what the listener misses: lines behind `line`, the newest snapshot and the packets behind it. What the server does not remember it asks of the whisperer. A second one within 1 s is dropped without a word. */
  interface LiveResync {
    type: "live_resync"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      conversationId: UUID
      /** 0 before the first packet. 0 to 9007199254740991. */
      epoch: number
      /** Of the last packet that is part of the text; 0 for none. 0 to 9007199254740991. */
      seq: number
      /** Lines behind this one are wanted. 0 to 2147483647. */
      line: number
    }
  }
  /** Raises a hand: the whisperer gets `live_attention`. It may be lost. */
  interface LiveAttention {
    type: "live_attention"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      conversationId: UUID
      /** To say something, to hear it again, to go slower. */
      want: "hand" | "repeat" | "slower"
    }
  }
  /** Creates a room with the caller as host and first participant. Sent again by its creator, it has the same answer and changes nothing. */
  interface RoomCreate {
    type: "room_create"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      roomId: UUID
      /** Ed25519. 32 bytes. */
      signPublicKey: Base64
      /** X25519. 32 bytes. */
      encPublicKey: Base64
      /** Default: 2. 2 to 8. */
      participantsMax?: number | null
      /** 0: no code. The server may draw a longer one. Default: 6. 0 to 10. */
      codeDigits?: number | null
      /** How long the code opens the room. Default: 600. 1 to 86400. */
      codeTtlSeconds?: number | null
      /** Asked for besides the code. 4 to 12 digits. */
      pin?: string | null
      /** SHA-256 of the link's proof. 32 bytes. */
      linkVerifier?: Base64 | null
    }
  }
  /** Retires the room's code and draws another one. 0 seconds: the room has none. */
  interface RoomCode {
    type: "room_code"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      roomId: UUID
      /** 0: no code. The server may draw a longer one. Default: 6. 0 to 10. */
      codeDigits?: number | null
      /** How long the code opens the room. Default: 600. 0 to 86400. */
      codeTtlSeconds?: number | null
      /** Asked for besides the code. 4 to 12 digits. */
      pin?: string | null
    }
  }
  /** Joins a room by its code or by its link. A participant comes back by `roomId` alone, and does so on each new connection. */
  interface RoomJoin {
    type: "room_join"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      roomId?: UUID | null
      /** 6 to 10 digits. */
      code?: string | null
      /** 4 to 12 digits. */
      pin?: string | null
      /** From the secret in the link's fragment. 32 bytes. */
      linkProof?: Base64 | null
      /** Ed25519. 32 bytes. */
      signPublicKey: Base64
      /** X25519. 32 bytes. */
      encPublicKey: Base64
    }
  }
  /** An offer, an answer or a candidate in a BOX for another participant. For one who is not connected, the newest offer and answer and 64 candidates are kept for 30 s. Of each pair the one with the lower seat offers. */
  interface RoomSignal {
    type: "room_signal"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      roomId: UUID
      kind: "offer" | "answer" | "candidate" | "restart" | "bye"
      /** Another participant. */
      to: WhisperID | GuestID
      /** The sender's own id. */
      from: WhisperID | GuestID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 12 bytes. */
      nonce: Base64
      /** 49 to 65536 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
    }
  }
  /** Changes a room. At least one of the three has to be there. */
  interface RoomUpdate {
    type: "room_update"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      roomId: UUID
      /** Another participant becomes host. */
      host?: WhisperID | GuestID | null
      /** Not below the present number. 2 to 8. */
      participantsMax?: number | null
      /** Nobody new may join. */
      isLocked?: boolean | null
    }
  }
  /** Removes a participant, who cannot come back by the same code or link. A new code lets it in. */
  interface RoomRemove {
    type: "room_remove"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      roomId: UUID
      participant: WhisperID | GuestID
    }
  }
  /** Wakes the identities that are away by push, each once a minute. */
  interface RoomPoke {
    type: "room_poke"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      roomId: UUID
    }
  }
  /** Gives the seat up. The host hands the room over; the last one closes it. Idempotent, for any id. */
  interface RoomLeave {
    type: "room_leave"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      roomId: UUID
    }
  }
  /** Ends the room for all. Idempotent. */
  interface RoomClose {
    type: "room_close"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      roomId: UUID
    }
  }
  /** Asks for all rooms in which the caller has a seat. */
  interface RoomList {
    type: "room_list"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
    }
  }
  /** Leaves all rooms, and closes those that the caller hosts. */
  interface RoomPurge {
    type: "room_purge"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
    }
  }
  /** Asks for relays, as `room_joined` brings them. A participant who was alone asks when somebody else has come. */
  interface RoomTurn {
    type: "room_turn"
    /** Any text of the client's. Every direct answer repeats it. */
    requestId?: string | null
    payload: {
      protocolVersion: 1
      cryptoVersion: 1
      sessionToken?: string | null
      guestToken?: string | null
      roomId: UUID
    }
  }
}
export type ClientFrame =
  | Client.RegisterBegin
  | Client.RegisterProof
  | Client.GuestBegin
  | Client.GuestProof
  | Client.GuestForget
  | Client.SessionRefresh
  | Client.Logout
  | Client.AccountDeleteBegin
  | Client.AccountDelete
  | Client.Ping
  | Client.UpdateTokens
  | Client.SendMessage
  | Client.DeliveryReceipt
  | Client.FetchPending
  | Client.GroupCreate
  | Client.GroupUpdate
  | Client.GroupList
  | Client.GroupSendMessage
  | Client.Typing
  | Client.Report
  | Client.CallInitiate
  | Client.CallAnswer
  | Client.CallIceCandidate
  | Client.CallEnd
  | Client.GetTurnCredentials
  | Client.LiveCreate
  | Client.LiveUpdate
  | Client.LiveDelete
  | Client.LiveList
  | Client.LiveRoster
  | Client.LiveKnock
  | Client.LiveGrant
  | Client.LiveRefuse
  | Client.LiveStart
  | Client.LiveStop
  | Client.LiveJoin
  | Client.LiveLeave
  | Client.LivePacket
  | Client.LiveResync
  | Client.LiveAttention
  | Client.RoomCreate
  | Client.RoomCode
  | Client.RoomJoin
  | Client.RoomSignal
  | Client.RoomUpdate
  | Client.RoomRemove
  | Client.RoomPoke
  | Client.RoomLeave
  | Client.RoomClose
  | Client.RoomList
  | Client.RoomPurge
  | Client.RoomTurn

export declare namespace Server {
  /** What the client is to sign: the 16 ASCII bytes `whisper-register` and 16 random ones. A client refuses a challenge without that prefix, because message signatures are made with the same key. Single use. */
  interface RegisterChallenge {
    type: "register_challenge"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      challengeId: UUID
      /** 32 bytes. */
      challenge: Base64
      /** 60 s after it was made. */
      expiresAt: Timestamp
      /** Whether somebody new needs an invitation, or cannot register at all. `open` if it is absent. */
      registration?: "invited" | "closed" | null
    }
  }
  /** The login succeeded; the connection belongs to the identity from here on. */
  interface RegisterAck {
    type: "register_ack"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** Always `true`. */
      success: boolean
      /** The identity's id; a client checks that it belongs to its keys. */
      whisperId: WhisperID
      /** Opaque: `A-Z a-z 0-9 _ -`. Goes into every later payload. 32 to 64 characters. */
      sessionToken: string
      sessionExpiresAt: Timestamp
      serverTime: Timestamp
      /** The identity's class of rates. Absent: its rates are everybody's. 1 to 32 characters. */
      rateClass?: string | null
    }
  }
  /** What the guest is to sign: the 16 ASCII bytes `whisper-guest-v1` and 16 random ones. A client refuses a challenge without that prefix, because other signatures are made with the same key. Single use. */
  interface GuestChallenge {
    type: "guest_challenge"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      challengeId: UUID
      /** 32 bytes. */
      challenge: Base64
      /** 60 s after it was made. */
      expiresAt: Timestamp
    }
  }
  /** The proof succeeded; the connection belongs to the guest from here on. */
  interface GuestAck {
    type: "guest_ack"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** Always `true`. */
      success: boolean
      /** The guest's id; a client checks that it belongs to its keys. */
      guestId: GuestID
      /** Opaque: `A-Z a-z 0-9 _ -`. The next proof ends it. 32 to 64 characters. */
      guestToken: string
      /** 24 h after the proof. */
      guestExpiresAt: Timestamp
      serverTime: Timestamp
    }
  }
  /** The guest is erased. Its seats and its places as a listener go within minutes. The connection closes with 1000. */
  interface GuestForgotten {
    type: "guest_forgotten"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** The next session token. */
  interface SessionRefreshAck {
    type: "session_refresh_ack"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** Opaque: `A-Z a-z 0-9 _ -`. Goes into every later payload. 32 to 64 characters. */
      sessionToken: string
      sessionExpiresAt: Timestamp
      serverTime: Timestamp
      /** The identity's class of rates. Absent: its rates are everybody's. 1 to 32 characters. */
      rateClass?: string | null
    }
  }
  /** The session and the device's push tokens are gone. The connection closes with 1000. */
  interface LogoutAck {
    type: "logout_ack"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Bytes for the signature of an erasure: the 16 ASCII bytes `whisper-erase-v1` and 16 random ones. A client refuses a challenge without that prefix, and signs only when its person has confirmed. Single use. */
  interface AccountDeleteChallenge {
    type: "account_delete_challenge"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      challengeId: UUID
      /** 32 bytes. */
      challenge: Base64
      /** 300 s after it was made. */
      expiresAt: Timestamp
    }
  }
  /** The identity is erased: nobody logs in with its keys again. Other services erase the rest within minutes. The connection closes with 1000. */
  interface AccountDeleted {
    type: "account_deleted"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** Always `true`. */
      success: boolean
      /** Names the erasure for operators. The server keeps nothing that joins it to the person. */
      erasureId: UUID
    }
  }
  /** The push tokens are stored. */
  interface TokensUpdated {
    type: "tokens_updated"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** The server's time. */
  interface Pong {
    type: "pong"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** As the `ping` had it. */
      timestamp?: Timestamp | null
      serverTime: Timestamp
    }
  }
  /** The message is stored durably, now or when it was first sent. */
  interface MessageAccepted {
    type: "message_accepted"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      messageId: UUID
      status: "sent"
      /** Group mail only. */
      to?: WhisperID | null
    }
  }
  /** A message, just as it was sent. The recipient verifies the signature, decrypts, stores, and then sends a `delivery_receipt`. Without one it comes again: within 30 s on the same connection, and with `fetch_pending` on every other, for 72 h. A sender's messages come in the order accepted. */
  interface MessageReceived {
    type: "message_received"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      messageId: UUID
      from: WhisperID
      to: WhisperID
      /** Group mail only. */
      groupId?: GroupID | null
      msgType: "text" | "image" | "voice" | "file" | "system"
      /** The sender's clock. */
      timestamp: Timestamp
      /** 24 bytes. */
      nonce: Base64
      /** 1 to 262144 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
      /** The message that this one answers. */
      replyTo?: UUID | null
      reactions?: Record<string, WhisperID[]> | null
      attachment?: {
        /** As `POST /attachments/presign` gave it to the sender. 1 to 128 characters. */
        objectKey: string
        /** 1 to 100 characters. */
        contentType: string
        /** In bytes. 1 to 50000000. */
        ciphertextSize: number
        /** 24 bytes. */
        fileNonce: Base64
        /** The file's key, boxed for the recipient. */
        fileKeyBox: {
          /** 24 bytes. */
          nonce: Base64
          /** 1 to 256 bytes. */
          ciphertext: Base64
        }
      } | null
    }
  }
  /** A page of the mailbox, oldest first. It also ends before the whole frame would pass 480000 bytes. */
  interface PendingMessages {
    type: "pending_messages"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** Payloads of `message_received`. 0 to 100 elements. */
      messages: Array<{
        messageId: UUID
        from: WhisperID
        to: WhisperID
        /** Group mail only. */
        groupId?: GroupID | null
        msgType: "text" | "image" | "voice" | "file" | "system"
        /** The sender's clock. */
        timestamp: Timestamp
        /** 24 bytes. */
        nonce: Base64
        /** 1 to 262144 bytes. */
        ciphertext: Base64
        /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
        sig: Base64
        /** The message that this one answers. */
        replyTo?: UUID | null
        reactions?: Record<string, WhisperID[]> | null
        attachment?: {
          /** As `POST /attachments/presign` gave it to the sender. 1 to 128 characters. */
          objectKey: string
          /** 1 to 100 characters. */
          contentType: string
          /** In bytes. 1 to 50000000. */
          ciphertextSize: number
          /** 24 bytes. */
          fileNonce: Base64
          /** The file's key, boxed for the recipient. */
          fileKeyBox: {
            /** 24 bytes. */
            nonce: Base64
            /** 1 to 256 bytes. */
            ciphertext: Base64
          }
        } | null
      }>
      /** Only when there is more. 1 to 64 characters. */
      nextCursor?: string | null
    }
  }
  /** The recipient has stored or read the message. Kept 72 h for a sender who is away, and sent when it binds. */
  interface MessageDelivered {
    type: "message_delivered"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      messageId: UUID
      status: "delivered" | "read"
      /** As the receipt says. */
      timestamp: Timestamp
      /** The recipient of the message, who sent the receipt. */
      from?: WhisperID | null
      /** Group mail only. */
      groupId?: GroupID | null
    }
  }
  /** The message was not fetched within 72 h and is gone. */
  interface MessageExpired {
    type: "message_expired"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      messageId: UUID
      to: WhisperID
    }
  }
  /** A group is new or has changed: for the one who did it, with `requestId`, for all members, and for whoever was removed. A member who was away gets the latest one of each group when binding: those of own groups first, and more when these are confirmed. They wait for 30 days. */
  interface GroupEvent {
    type: "group_event"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      event: "created" | "updated"
      group: {
        groupId: GroupID
        /** 1 to 64 characters. */
        title: string
        ownerId: WhisperID
        createdAt: Timestamp
        updatedAt: Timestamp
        /** Grows with every change; an older one is old news. 1 to 9007199254740991. */
        revision: number
        /** 0 to 256 elements. */
        members: Array<{
          whisperId: WhisperID
          role: "owner" | "admin" | "member"
          joinedAt: Timestamp
        }>
      }
      /** Who did it. */
      actor: WhisperID
      /** 0 to 256 elements. */
      added: Array<WhisperID>
      /** 0 to 256 elements. */
      removed: Array<WhisperID>
      /** By the actor, over the change (see Signatures of groups). Only with `timestamp`. 64 bytes. */
      actorSig?: Base64 | null
      /** Of `actorSig`. */
      timestamp?: Timestamp | null
      /** With `actorSig`: what the actor signed, as it was spelled. The server does not check it. */
      change?: {
        /** 0 to 256 elements. */
        add: Array<WhisperID>
        /** 0 to 256 elements. */
        remove: Array<WhisperID>
        /** 0 to 256 elements. */
        roles: Array<{
          whisperId: WhisperID
          role: "admin" | "member"
        }>
        /** 1 to 64 characters. */
        title?: string | null
      } | null
    }
  }
  /** A page of the groups that the caller is a member of: first those that it owns, then those where it is an admin, then the rest; each part by age of membership, the oldest first. It also ends before the whole frame would pass 480000 bytes. A group where the caller's role changes meanwhile may come twice. */
  interface Groups {
    type: "groups"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** 0 to 100 elements. */
      groups: Array<{
        groupId: GroupID
        /** 1 to 64 characters. */
        title: string
        ownerId: WhisperID
        createdAt: Timestamp
        updatedAt: Timestamp
        /** Grows with every change; an older one is old news. 1 to 9007199254740991. */
        revision: number
        /** 0 to 256 elements. */
        members: Array<{
          whisperId: WhisperID
          role: "owner" | "admin" | "member"
          joinedAt: Timestamp
        }>
      }>
      /** Only when there is more. 1 to 64 characters. */
      nextCursor?: string | null
    }
  }
  /** A peer came, or has been away for 15 s. At most one in 30 s about each peer; the latest state wins. */
  interface PresenceUpdate {
    type: "presence_update"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      whisperId: WhisperID
      status: "online" | "offline"
      /** With `offline`. */
      lastSeen?: Timestamp | null
    }
  }
  /** A peer is writing, or has stopped. */
  interface TypingNotification {
    type: "typing_notification"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      from: WhisperID
      isTyping: boolean
      timestamp: Timestamp
    }
  }
  /** Another device has written a document of the profile, or its members are others now. Goes to all members but the one who did it. It may be lost, and two of them may come in another order. */
  interface ProfileChanged {
    type: "profile_changed"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      profileId: UUID
      change: "document" | "members"
      /** With `document`. */
      name?: "user" | "whisper" | "listen" | "settings" | "favorites" | null
      /** With `document`: the one that was written. 1 to 9007199254740991. */
      version?: number | null
    }
  }
  /** The report is stored. */
  interface ReportAck {
    type: "report_ack"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      reportId: UUID
    }
  }
  /** A frame was not accepted, and why; or, unasked and before a close, that the session has ended. Never closes the connection unless a close code is named for the case. */
  interface Error {
    type: "error"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      code: "NOT_REGISTERED" | "AUTH_FAILED" | "INVALID_PAYLOAD" | "INVALID_TIMESTAMP" | "RATE_LIMITED" | "USER_BANNED" | "NOT_FOUND" | "FORBIDDEN" | "INTERNAL_ERROR"
      /** For people. Never repeats a value that the client sent. 1 to 1000 characters. */
      message: string
      /** Also at top level. 1 to 64 characters. */
      requestId?: string | null
      /** Milliseconds to wait: of RATE_LIMITED, and of USER_BANNED after `register_proof`, if the ban ends. 0 to 253402300799999. */
      retryAfterMs?: number | null
      /** Where a client can act on more than the code. A client that does not know one shows `message`. */
      reason?: "registrationClosed" | "invitationNeeded" | "invitationInvalid" | "erased" | "confirmationMismatch" | null
    }
  }
  /** Somebody calls. Kept until the ringing ends, and sent again when the callee binds. */
  interface CallIncoming {
    type: "call_incoming"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      callId: UUID
      from: WhisperID
      to: WhisperID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 24 bytes. */
      nonce: Base64
      /** 1 to 262144 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
      isVideo: boolean
    }
  }
  /** The call has reached the callee's device. */
  interface CallRinging {
    type: "call_ringing"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      callId: UUID
      /** The callee. */
      from: WhisperID
      timestamp: Timestamp
    }
  }
  /** The callee has taken the call. */
  interface CallAnswer {
    type: "call_answer"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      callId: UUID
      from: WhisperID
      to: WhisperID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 24 bytes. */
      nonce: Base64
      /** 1 to 262144 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
    }
  }
  /** One network path to the other side. */
  interface CallIceCandidate {
    type: "call_ice_candidate"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      callId: UUID
      from: WhisperID
      to: WhisperID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 24 bytes. */
      nonce: Base64
      /** 1 to 262144 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
    }
  }
  /** The call is over: forwarded whole from the other side, or the server's own with the first three fields only. `busy` from the server refuses a `call_initiate`, and then has its `requestId`. */
  interface CallEnd {
    type: "call_end"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      callId: UUID
      reason?: "ended" | "declined" | "busy" | "timeout" | "failed" | "cancelled" | null
      timestamp: Timestamp
      from?: WhisperID | null
      to?: WhisperID | null
      /** 24 bytes. */
      nonce?: Base64 | null
      /** 1 to 262144 bytes. */
      ciphertext?: Base64 | null
      /** 64 bytes. */
      sig?: Base64 | null
    }
  }
  /** Relays, and credentials for them. */
  interface TurnCredentials {
    type: "turn_credentials"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** 1 to 16 elements. */
      urls: Array<string>
      /** `{unix expiry}:{pseudonym}`. The same within an hour. 1 to 128 characters. */
      username: string
      /** HMAC-SHA1 of the user name. 20 bytes. */
      credential: Base64
      /** In seconds. 1 to 86400. */
      ttl: number
    }
  }
  /** The conversation as it is now. */
  interface LiveConversation {
    type: "live_conversation"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
      profileId: UUID
      state: "idle" | "live" | "paused"
      /** Counts every taking of the stream. 0 to 9007199254740991. */
      epoch: number
      /** The newest content keys, from 1. 1 to 2147483647. */
      generation: number
      /** Names one session of whispering. */
      contentId?: UUID | null
      /** The device that whispers. */
      holder?: WhisperID | null
      /** How long lines are kept. 0: not at all. 0 to 365. */
      transcriptDays: number
      createdAt: Timestamp
      updatedAt: Timestamp
    }
  }
  /** The conversation is deleted, with all that belonged to it. */
  interface LiveDeleted {
    type: "live_deleted"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
    }
  }
  /** All conversations of the profile. */
  interface LiveConversations {
    type: "live_conversations"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** 0 to 100 elements. */
      conversations: Array<{
        /** CID of contract §14.2. */
        conversationId: UUID
        profileId: UUID
        state: "idle" | "live" | "paused"
        /** Counts every taking of the stream. 0 to 9007199254740991. */
        epoch: number
        /** The newest content keys, from 1. 1 to 2147483647. */
        generation: number
        /** Names one session of whispering. */
        contentId?: UUID | null
        /** The device that whispers. */
        holder?: WhisperID | null
        /** How long lines are kept. 0: not at all. 0 to 365. */
        transcriptDays: number
        createdAt: Timestamp
        updatedAt: Timestamp
      }>
    }
  }
  /** Who listens, waits or is blocked. */
  interface LiveRoster {
    type: "live_roster"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
      state: "idle" | "live" | "paused"
      /** Counts every taking of the stream. 0 to 9007199254740991. */
      epoch: number
      /** The newest content keys, from 1. 1 to 2147483647. */
      generation: number
      /** Names one session of whispering. */
      contentId?: UUID | null
      /** The device that whispers. */
      holder?: WhisperID | null
      /** 0 to 1050 elements. */
      listeners: Array<{
        listener: WhisperID | GuestID
        status: "waiting" | "admitted" | "joined" | "blocked"
        since: Timestamp
        /** Of its newest grant. 0: it has none. 0 to 2147483647. */
        generation: number
        /** Ed25519. 32 bytes. */
        signPublicKey: Base64
        /** X25519. 32 bytes. */
        encPublicKey: Base64
        /** Of those who wait. */
        knock?: {
          /** The sender's clock. */
          timestamp: Timestamp
          /** 12 bytes. */
          nonce: Base64
          /** 49 to 1024 bytes. */
          ciphertext: Base64
          /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
          sig: Base64
        } | null
      }>
    }
  }
  /** The listener waits until a device of the profile decides. */
  interface LiveWaiting {
    type: "live_waiting"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
      state: "idle" | "live" | "paused"
      /** When the knock is forgotten. */
      expiresAt: Timestamp
    }
  }
  /** Somebody waits. It is told again every 15 s while they do. The client checks that the keys are the listener's and that the knock's signature and tag fit, and answers `live_grant` or `live_refuse`. */
  interface LiveKnocked {
    type: "live_knocked"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
      listener: WhisperID | GuestID
      /** It is admitted, and misses the newest key alone. */
      isKnown: boolean
      /** Ed25519. 32 bytes. */
      signPublicKey: Base64
      /** X25519. 32 bytes. */
      encPublicKey: Base64
      /** Absent if a known listener has not knocked. */
      knock?: {
        /** The sender's clock. */
        timestamp: Timestamp
        /** 12 bytes. */
        nonce: Base64
        /** 49 to 1024 bytes. */
        ciphertext: Base64
        /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
        sig: Base64
      } | null
    }
  }
  /** The listener is admitted. `ciphertext` is a BOX for its key, with the content key of `generation`. The grant may be old: clients do not compare its timestamp. */
  interface LiveAdmitted {
    type: "live_admitted"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
      /** The newest content keys, from 1. 1 to 2147483647. */
      generation: number
      /** The sender's own id. */
      from: WhisperID | GuestID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 12 bytes. */
      nonce: Base64
      /** 49 to 256 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
      /** Lines are kept. */
      isTranscribed: boolean
    }
  }
  /** The grants are kept, and given to their listeners. */
  interface LiveGranted {
    type: "live_granted"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
      /** The newest content keys, from 1. 1 to 2147483647. */
      generation: number
      /** 0 to 250 elements. */
      granted: Array<WhisperID | GuestID>
      /** They neither wait, nor are admitted or blocked. 0 to 250 elements. */
      ignored: Array<WhisperID | GuestID>
    }
  }
  /** The listener is sent away, by a device of the profile with a BOX for it, or by the server with reason and timestamp only. */
  interface LiveRefused {
    type: "live_refused"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
      reason: "declined" | "passcode" | "removed" | "expired" | "deleted"
      timestamp: Timestamp
      from?: WhisperID | GuestID | null
      /** 12 bytes. */
      nonce?: Base64 | null
      /** 49 to 512 bytes. */
      ciphertext?: Base64 | null
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig?: Base64 | null
    }
  }
  /** What has become of a listener. A client that counts otherwise than `joined` asks `live_roster`. */
  interface LiveListener {
    type: "live_listener"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
      listener: WhisperID | GuestID
      status: "waiting" | "joined" | "left" | "admitted" | "refused" | "blocked"
      /** How many listen now. 0 to 500. */
      joined: number
      timestamp: Timestamp
    }
  }
  /** This connection may send packets of `epoch`. Their numbers begin at 1, and the first is a snapshot. */
  interface LiveStarted {
    type: "live_started"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
      /** Names one session of whispering. */
      contentId: UUID
      /** Counts every taking of the stream. 0 to 9007199254740991. */
      epoch: number
      /** The newest content keys, from 1. 1 to 2147483647. */
      generation: number
      /** The stream had begun before. */
      isResumed: boolean
      /** The greatest line that is stored. 0: none. 0 to 2147483647. */
      line: number
      /** 0 to 1050 elements. */
      listeners: Array<{
        listener: WhisperID | GuestID
        status: "waiting" | "admitted" | "joined" | "blocked"
        since: Timestamp
        /** Of its newest grant. 0: it has none. 0 to 2147483647. */
        generation: number
        /** Ed25519. 32 bytes. */
        signPublicKey: Base64
        /** X25519. 32 bytes. */
        encPublicKey: Base64
        /** Of those who wait. */
        knock?: {
          /** The sender's clock. */
          timestamp: Timestamp
          /** 12 bytes. */
          nonce: Base64
          /** 49 to 1024 bytes. */
          ciphertext: Base64
          /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
          sig: Base64
        } | null
      }>
    }
  }
  /** The stream has ended, or this connection may send no more packets of it. */
  interface LiveStopped {
    type: "live_stopped"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
      /** Names one session of whispering. */
      contentId: UUID
      reason: "stopped" | "taken_over" | "removed"
    }
  }
  /** The caller neither listens nor waits. */
  interface LiveLeft {
    type: "live_left"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
    }
  }
  /** The listener has joined. Without `after`, a snapshot and the packets behind it follow: the live text of now. With `after`, the lines that it misses come first, each once and in order. */
  interface LiveJoined {
    type: "live_joined"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      conversationId: UUID
      state: "idle" | "live" | "paused"
      /** The stream's, unless the conversation is idle. */
      contentId?: UUID | null
      /** 0 to 9007199254740991. */
      epoch: number
      /** 1 to 9007199254740991. */
      generation: number
      /** Lines are kept. */
      isTranscribed: boolean
      /** Of the newest packet that the server knows of; 0 for none. 0 to 9007199254740991. */
      seq: number
      /** Lines completed so far. Those are not missing, unless `after` says fewer. 0 to 2147483647. */
      line?: number | null
      /** Absent for devices of the profile. */
      grant?: {
        from: WhisperID
        /** 1 to 9007199254740991. */
        generation: number
        timestamp: Timestamp
        /** 12 bytes. */
        nonce: Base64
        /** A BOX for the listener's key. 49 to 256 bytes. */
        ciphertext: Base64
        /** By the conversation's key. 64 bytes. */
        sig: Base64
      } | null
    }
  }
  /** A stream has begun, goes on with another device or after a pause, is paused, or has ended. It comes before the first packet of each epoch. Listeners stay joined when a stream ends, and hear when the next one begins. */
  interface LiveState {
    type: "live_state"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      conversationId: UUID
      state: "live" | "paused" | "ended"
      /** With `ended`. */
      reason?: "stopped" | "timeout" | "deleted" | null
      /** The stream's. */
      contentId?: UUID | null
      /** 0 to 9007199254740991. */
      epoch: number
      /** 1 to 9007199254740991. */
      generation: number
      /** Lines are kept. */
      isTranscribed: boolean
      timestamp: Timestamp
    }
  }
  /** A piece of a live conversation, for those who have joined. A lower `epoch` or `seq` is ignored. Of lines of the present `contentId`, the number decides. Packets may be left out; what comes is in order. */
  interface LivePacket {
    type: "live_packet"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      conversationId: UUID
      /** 1 to 9007199254740991. */
      epoch: number
      /** 1 to 9007199254740991. */
      seq: number
      kind: "snapshot" | "diff" | "line" | "cue"
      /** 0 to 2147483647. */
      line: number
      /** 1 to 9007199254740991. */
      generation: number
      to?: WhisperID | GuestID | null
      /** 12 bytes. */
      nonce: Base64
      /** 17 to 12288 bytes. */
      ciphertext: Base64
    }
  }
  /** Something that listeners need is not remembered by the server. The whisperer sends a snapshot within 250 ms, or its newest lines again with `to`. At most 4 snapshots a second are wanted, and lines once in 5 s for each listener. */
  interface LiveWanted {
    type: "live_wanted"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      conversationId: UUID
      /** 1 to 9007199254740991. */
      epoch: number
      want: "snapshot" | "lines"
      /** With `lines`. */
      listener?: WhisperID | GuestID | null
      /** With `lines`: the first that it misses. 1 to 2147483647. */
      fromLine?: number | null
      /** With `lines`: when the listener first joined. It gets no line completed before. */
      since?: Timestamp | null
    }
  }
  /** A listener has raised its hand, asks to hear it again, or to go slower. For the whisperer. */
  interface LiveAttention {
    type: "live_attention"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      conversationId: UUID
      listener: WhisperID | GuestID
      want: "hand" | "repeat" | "slower"
      /** The server's clock. */
      timestamp: Timestamp
    }
  }
  /** These lines are in the transcript, and stay there whatever fails. Comes only while lines are kept. A client sends a line again, with its number and a new `seq`, if it was not told for 5 s. */
  interface LiveLineStored {
    type: "live_line_stored"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** CID of contract §14.2. */
      conversationId: UUID
      /** Names one session of whispering. */
      contentId: UUID
      /** Their numbers. A line that was sent again is told again. 0 to 1024 elements. */
      lines: Array<number>
      /** Numbers of lines for which the identity or its profile has no room. Listeners got them; the transcript lacks them. A client does not send them again. 1 to 1024 elements. */
      notKept?: Array<number> | null
    }
  }
  /** The room as it is now, and relays to use in it once somebody else has a seat. */
  interface RoomJoined {
    type: "room_joined"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      roomId: UUID
      /** Who may change the room. */
      host: WhisperID | GuestID
      /** 2 to 8. */
      participantsMax: number
      /** Nobody new may join. */
      isLocked: boolean
      /** Counts the changes. The newest state counts. 1 to 9007199254740991. */
      revision: number
      state: "pending" | "accepted" | "closed"
      /** When the room ends, if nobody connects any more. */
      expiresAt: Timestamp
      /** 0 to 8 elements. */
      participants: Array<{
        participant: WhisperID | GuestID
        /** From 1. Of each pair the one with the lower seat offers. 1 to 2147483647. */
        seat: number
        via: "creator" | "code" | "link"
        isConnected: boolean
        joinedAt: Timestamp
        /** Ed25519. 32 bytes. */
        signPublicKey: Base64
        /** X25519. 32 bytes. */
        encPublicKey: Base64
      }>
      /** From 1. Of each pair the one with the lower seat offers. 1 to 2147483647. */
      seat: number
      /** For the host alone. 6 to 10 digits. */
      code?: string | null
      codeExpiresAt?: Timestamp | null
      /** As in `turn_credentials`. Absent while nobody else has a seat: ask `room_turn` when somebody comes. */
      turn?: {
        /** 1 to 16 elements. */
        urls: Array<string>
        /** `{unix expiry}:{pseudonym}`. The same within an hour. 1 to 128 characters. */
        username: string
        /** HMAC-SHA1 of the user name. 20 bytes. */
        credential: Base64
        /** In seconds. 1 to 86400. */
        ttl: number
      } | null
    }
  }
  /** The code from now on. The one before opens nothing more. */
  interface RoomCode {
    type: "room_code"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      roomId: UUID
      /** Absent: the room has none. 6 to 10 digits. */
      code?: string | null
      codeExpiresAt?: Timestamp | null
    }
  }
  /** `ciphertext` is a BOX for the reader. The signature is by the sender's key, which `participants` shows. */
  interface RoomSignal {
    type: "room_signal"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      roomId: UUID
      kind: "offer" | "answer" | "candidate" | "restart" | "bye"
      /** Another participant. */
      to: WhisperID | GuestID
      /** The sender's own id. */
      from: WhisperID | GuestID
      /** The sender's clock. */
      timestamp: Timestamp
      /** 12 bytes. */
      nonce: Base64
      /** 49 to 65536 bytes. */
      ciphertext: Base64
      /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
      sig: Base64
    }
  }
  /** One change, and the whole state after it. What got lost comes with the next one. */
  interface RoomEvent {
    type: "room_event"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      roomId: UUID
      event: "joined" | "left" | "removed" | "away" | "back" | "host" | "updated" | "closed"
      /** Whom it concerns. */
      participant?: WhisperID | GuestID | null
      /** Who has done it. */
      by?: WhisperID | GuestID | null
      timestamp: Timestamp
      /** The room after the change. */
      room: {
        roomId: UUID
        /** Who may change the room. */
        host: WhisperID | GuestID
        /** 2 to 8. */
        participantsMax: number
        /** Nobody new may join. */
        isLocked: boolean
        /** Counts the changes. The newest state counts. 1 to 9007199254740991. */
        revision: number
        state: "pending" | "accepted" | "closed"
        /** When the room ends, if nobody connects any more. */
        expiresAt: Timestamp
        /** 0 to 8 elements. */
        participants: Array<{
          participant: WhisperID | GuestID
          /** From 1. Of each pair the one with the lower seat offers. 1 to 2147483647. */
          seat: number
          via: "creator" | "code" | "link"
          isConnected: boolean
          joinedAt: Timestamp
          /** Ed25519. 32 bytes. */
          signPublicKey: Base64
          /** X25519. 32 bytes. */
          encPublicKey: Base64
        }>
      }
    }
  }
  /** How many are woken by push. */
  interface RoomPoked {
    type: "room_poked"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      roomId: UUID
      /** Identities that are away and were not woken just before. 0 to 8. */
      woken: number
    }
  }
  /** The caller has no seat in the room. It comes by itself if the room has ended, or the seat has gone, and the frame that said so was lost. Ask by `room_join`. */
  interface RoomLeft {
    type: "room_left"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      roomId: UUID
    }
  }
  /** All rooms in which the caller has a seat. */
  interface Rooms {
    type: "rooms"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** 0 to 64 elements. */
      rooms: Array<{
        roomId: UUID
        /** Who may change the room. */
        host: WhisperID | GuestID
        /** 2 to 8. */
        participantsMax: number
        /** Nobody new may join. */
        isLocked: boolean
        /** Counts the changes. The newest state counts. 1 to 9007199254740991. */
        revision: number
        state: "pending" | "accepted" | "closed"
        /** When the room ends, if nobody connects any more. */
        expiresAt: Timestamp
        /** 0 to 8 elements. */
        participants: Array<{
          participant: WhisperID | GuestID
          /** From 1. Of each pair the one with the lower seat offers. 1 to 2147483647. */
          seat: number
          via: "creator" | "code" | "link"
          isConnected: boolean
          joinedAt: Timestamp
          /** Ed25519. 32 bytes. */
          signPublicKey: Base64
          /** X25519. 32 bytes. */
          encPublicKey: Base64
        }>
      }>
    }
  }
  /** The caller has no seat anywhere. */
  interface RoomPurged {
    type: "room_purged"
    /** As the answered frame had it. */
    requestId?: string | null
    payload: {
      /** Rooms left. 0 to 64. */
      left: number
      /** Rooms closed, which the caller hosted. 0 to 64. */
      closed: number
    }
  }
}
export type ServerFrame =
  | Server.RegisterChallenge
  | Server.RegisterAck
  | Server.GuestChallenge
  | Server.GuestAck
  | Server.GuestForgotten
  | Server.SessionRefreshAck
  | Server.LogoutAck
  | Server.AccountDeleteChallenge
  | Server.AccountDeleted
  | Server.TokensUpdated
  | Server.Pong
  | Server.MessageAccepted
  | Server.MessageReceived
  | Server.PendingMessages
  | Server.MessageDelivered
  | Server.MessageExpired
  | Server.GroupEvent
  | Server.Groups
  | Server.PresenceUpdate
  | Server.TypingNotification
  | Server.ProfileChanged
  | Server.ReportAck
  | Server.Error
  | Server.CallIncoming
  | Server.CallRinging
  | Server.CallAnswer
  | Server.CallIceCandidate
  | Server.CallEnd
  | Server.TurnCredentials
  | Server.LiveConversation
  | Server.LiveDeleted
  | Server.LiveConversations
  | Server.LiveRoster
  | Server.LiveWaiting
  | Server.LiveKnocked
  | Server.LiveAdmitted
  | Server.LiveGranted
  | Server.LiveRefused
  | Server.LiveListener
  | Server.LiveStarted
  | Server.LiveStopped
  | Server.LiveLeft
  | Server.LiveJoined
  | Server.LiveState
  | Server.LivePacket
  | Server.LiveWanted
  | Server.LiveAttention
  | Server.LiveLineStored
  | Server.RoomJoined
  | Server.RoomCode
  | Server.RoomSignal
  | Server.RoomEvent
  | Server.RoomPoked
  | Server.RoomLeft
  | Server.Rooms
  | Server.RoomPurged

export interface Routes {
  /** The public keys of an identity. They never change, and the id is made from them: a client checks that they belong together. */
  "GET /users/{whisperId}/keys": {
    parameters: {
      whisperId: WhisperID
    }
    body: undefined
    answer: {
      whisperId: WhisperID
      /** X25519. 32 bytes. */
      encPublicKey: Base64
      /** Ed25519. 32 bytes. */
      signPublicKey: Base64
      /** To a banned identity nothing can be sent. */
      status: "active" | "banned"
    }
  }
  /** Stores the backup, in place of the one before. Refused for a session that is not the identity's live one. */
  "PUT /backup/contacts": {
    parameters: {
      /** Store only if this is still the backup's version; `*`: if there is one. 1 to 1000 characters. */
      "If-Match"?: string | null
    }
    body: {
      protocolVersion: 1
      cryptoVersion: 1
      /** 24 bytes. */
      nonce: Base64
      /** 1 to 1048576 bytes. */
      ciphertext: Base64
    }
    answer: {
      /** Always `true`. */
      success: boolean
      updatedAt: Timestamp
    }
  }
  /** The backup as it was stored. */
  "GET /backup/contacts": {
    parameters: {}
    body: undefined
    answer: {
      /** 24 bytes. */
      nonce: Base64
      /** 1 to 1048576 bytes. */
      ciphertext: Base64
      updatedAt: Timestamp
    }
  }
  /** Removes the backup, if there is one. */
  "DELETE /backup/contacts": {
    parameters: {}
    body: undefined
    answer: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Makes a profile with the caller as its first member. By a member, exchanges the hash of the key that devices join with. */
  "PUT /profiles/{profileId}": {
    parameters: {
      profileId: UUID
    }
    body: {
      protocolVersion: 1
      cryptoVersion: 1
      /** SHA-256 of the key that devices join with. 32 bytes. */
      joinHash: Base64
    }
    answer: {
      /** Made by the first device. */
      profileId: UUID
      /** By age of membership. 1 to 8 elements. */
      members: Array<{
        whisperId: WhisperID
        joinedAt: Timestamp
      }>
    }
  }
  /** Makes the caller a member. A member that joins again is answered the same. */
  "POST /profiles/{profileId}/members": {
    parameters: {
      profileId: UUID
    }
    body: {
      protocolVersion: 1
      cryptoVersion: 1
      /** Derived from the profile's secret, which the server never sees. 32 bytes. */
      joinKey: Base64
    }
    answer: {
      /** Made by the first device. */
      profileId: UUID
      /** By age of membership. 1 to 8 elements. */
      members: Array<{
        whisperId: WhisperID
        joinedAt: Timestamp
      }>
    }
  }
  /** Takes a device out of the profile, by any member. Whoever is no member any more may repeat its own going. With the last member the profile and its documents go. */
  "DELETE /profiles/{profileId}/members/{whisperId}": {
    parameters: {
      profileId: UUID
      whisperId: WhisperID
    }
    body: undefined
    answer: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Who is in the profile, and which documents it has. */
  "GET /profiles/{profileId}": {
    parameters: {
      profileId: UUID
    }
    body: undefined
    answer: {
      /** Made by the first device. */
      profileId: UUID
      /** By age of membership. 1 to 8 elements. */
      members: Array<{
        whisperId: WhisperID
        joinedAt: Timestamp
      }>
      /** Those that were written. 0 to 5 elements. */
      documents: Array<{
        name: "user" | "whisper" | "listen" | "settings" | "favorites"
        /** Counts the writings of the document, from 1 without gaps. 1 to 9007199254740991. */
        version: number
        updatedAt: Timestamp
        /** Of the ciphertext. 1 to 262144. */
        sizeBytes: number
      }>
    }
  }
  /** Writes a document, which the server cannot read. One of the two headers is needed. A write that was done and is repeated is answered with 412, too: its version has passed. */
  "PUT /profiles/{profileId}/documents/{name}": {
    parameters: {
      profileId: UUID
      name: "user" | "whisper" | "listen" | "settings" | "favorites"
      /** Write only if this is still the document's version. 1 to 1000 characters. */
      "If-Match"?: string | null
      /** Write only if there is no such document yet. */
      "If-None-Match"?: "*" | null
    }
    body: {
      protocolVersion: 1
      cryptoVersion: 1
      /** 12 bytes. */
      nonce: Base64
      /** 17 to 262144 bytes. */
      ciphertext: Base64
    }
    answer: {
      /** Always `true`. */
      success: boolean
      /** Counts the writings of the document, from 1 without gaps. 1 to 9007199254740991. */
      version: number
      updatedAt: Timestamp
    }
  }
  /** A document as it was written. */
  "GET /profiles/{profileId}/documents/{name}": {
    parameters: {
      profileId: UUID
      name: "user" | "whisper" | "listen" | "settings" | "favorites"
      /** Versions that the client has already. 1 to 1000 characters. */
      "If-None-Match"?: string | null
    }
    body: undefined
    answer: {
      /** 12 bytes. */
      nonce: Base64
      /** 17 to 262144 bytes. */
      ciphertext: Base64
      /** Counts the writings of the document, from 1 without gaps. 1 to 9007199254740991. */
      version: number
      updatedAt: Timestamp
    }
  }
  /** A URL to upload one encrypted file to, for 15 minutes. Method, key, `Content-Type` and `Content-Length` are bound to it. At most 1 GB of live uploads for each identity. With `multipart` the file may go up in parts instead, in any order and several at once, and is one file after `completeUpload`. */
  "POST /attachments/presign": {
    parameters: {}
    body: {
      /** 1 to 100 characters. */
      contentType: string
      /** Of the ciphertext. image/* to 15000000, audio/* to 25000000, other to 50000000. 1 to 9223372036854775807. */
      sizeBytes: number
      purpose: "message_attachment"
      /** Ask for URLs of parts as well. */
      multipart?: boolean | null
    }
    answer: {
      /** 1 to 4096 characters. */
      uploadUrl: string
      /** `att/YYYY/MM/{uuid}.bin` 1 to 128 characters. */
      objectKey: string
      expiresAt: Timestamp
      /** To be sent with every upload, a part's too. */
      headers: {
        /** 1 to 100 characters. */
        "Content-Type": string
      }
      /** Only if it was asked for. */
      multipart?: {
        /** Size of every part but the last. 1 to 9007199254740991. */
        partBytes: number
        /** Parts that have not arrived, in order. Part n holds the bytes from (n - 1) × `partBytes` on. 0 to 10 elements. */
        parts: Array<{
          /** 1 to 10. */
          number: number
          /** Bound to the URL. 1 to 5242880. */
          sizeBytes: number
          /** 1 to 4096 characters. */
          uploadUrl: string
        }>
      } | null
    }
  }
  /** A URL to download from, for 5 minutes: for the uploader, and recipients of a message that points to it. */
  "GET /attachments/{objectKey}/download": {
    parameters: {
      /** Contains slashes: raw and `%2F` both work. 1 to 128 characters. */
      objectKey: string
    }
    body: undefined
    answer: {
      /** 1 to 4096 characters. */
      downloadUrl: string
      expiresAt: Timestamp
    }
  }
  /** Where an upload in parts stands, and fresh URLs for what is missing, for 15 minutes. Until 24 hours after the presign, for its uploader. */
  "POST /attachments/{objectKey}/parts": {
    parameters: {
      /** Contains slashes: raw and `%2F` both work. 1 to 128 characters. */
      objectKey: string
    }
    body: undefined
    answer: {
      expiresAt: Timestamp
      /** To be sent with every upload, a part's too. */
      headers: {
        /** 1 to 100 characters. */
        "Content-Type": string
      }
      /** Size of every part but the last. 1 to 9007199254740991. */
      partBytes: number
      /** Numbers of the parts that have arrived, in order. 0 to 10 elements. */
      received: Array<number>
      /** Parts that have not arrived, in order. Part n holds the bytes from (n - 1) × `partBytes` on. 0 to 10 elements. */
      parts: Array<{
        /** 1 to 10. */
        number: number
        /** Bound to the URL. 1 to 5242880. */
        sizeBytes: number
        /** 1 to 4096 characters. */
        uploadUrl: string
      }>
    }
  }
  /** Says that everything is uploaded: parts become one file, and are checked to be all there. Repeating it gives the same answer. A single upload may be confirmed so too, but need not be. */
  "POST /attachments/{objectKey}/complete": {
    parameters: {
      /** Contains slashes: raw and `%2F` both work. 1 to 128 characters. */
      objectKey: string
    }
    body: undefined
    answer: {
      success: boolean
      /** 1 to 9007199254740991. */
      sizeBytes: number
    }
  }
  /** The messages that wait for the caller, without a connection. Nothing changes by it: a connection with the same token stays, nobody sees the caller online, and no message counts as delivered. The messages come again with `fetch_pending`. */
  "GET /mail": {
    parameters: {
      /** Messages at most. Absent: the greatest number. 1 to 50. */
      limit?: number | null
      /** Bytes of all messages together, at most. Absent: the greatest number. 1 to 262144. */
      bytes?: number | null
    }
    body: undefined
    answer: {
      /** Payloads of `message_received`, oldest first. 0 to 50 elements. */
      messages: Array<{
        messageId: UUID
        from: WhisperID
        to: WhisperID
        /** Group mail only. */
        groupId?: GroupID | null
        msgType: "text" | "image" | "voice" | "file" | "system"
        /** The sender's clock. */
        timestamp: Timestamp
        /** 24 bytes. */
        nonce: Base64
        /** 1 to 262144 bytes. */
        ciphertext: Base64
        /** Ed25519 over the SHA-256 of the canonical bytes. 64 bytes. */
        sig: Base64
        /** The message that this one answers. */
        replyTo?: UUID | null
        reactions?: Record<string, WhisperID[]> | null
        attachment?: {
          /** As `POST /attachments/presign` gave it to the sender. 1 to 128 characters. */
          objectKey: string
          /** 1 to 100 characters. */
          contentType: string
          /** In bytes. 1 to 50000000. */
          ciphertextSize: number
          /** 24 bytes. */
          fileNonce: Base64
          /** The file's key, boxed for the recipient. */
          fileKeyBox: {
            /** 24 bytes. */
            nonce: Base64
            /** 1 to 256 bytes. */
            ciphertext: Base64
          }
        } | null
      }>
      /** Other messages wait: behind these, or between them, where one does not fit into `bytes`. */
      more: boolean
      serverTime: Timestamp
    }
  }
  /** The calls that ring for the caller now. A woken app asks this before it lets the phone ring on: a push may be older than the call's end. `call_incoming` itself comes by WebSocket, as soon as the app is connected. */
  "GET /calls/ringing": {
    parameters: {}
    body: undefined
    answer: {
      calls: Array<{
        callId: UUID
        from: WhisperID
        isVideo: boolean
        /** As the push has it. */
        wakeId: UUID
        ringsUntil: Timestamp
      }>
    }
  }
  /** Shows whose conversation a link names, before anybody connects. The client checks that the id is made from the keys, and opens `ciphertext` with the key that the link's secret gives. */
  "POST /live/{conversationId}/look": {
    parameters: {
      conversationId: UUID
    }
    body: {
      protocolVersion: 1
      cryptoVersion: 1
      /** From the secret in the link's fragment. 32 bytes. */
      linkProof: Base64
    }
    answer: {
      /** CID of contract §14.2. */
      conversationId: UUID
      /** Ed25519. 32 bytes. */
      signPublicKey: Base64
      /** X25519. 32 bytes. */
      encPublicKey: Base64
      /** 12 bytes. */
      nonce: Base64
      /** 17 to 2048 bytes. */
      ciphertext: Base64
      state: "idle" | "live" | "paused"
      /** Lines are kept. */
      isTranscribed: boolean
    }
  }
  /** Streams of which lines are kept, newest first. A stream without lines leaves no transcript. */
  "GET /live/{conversationId}/transcripts": {
    parameters: {
      conversationId: UUID
      /** `nextCursor` of the page before. 1 to 64 characters. */
      cursor?: string | null
      /** 1 to 100. */
      limit?: number | null
    }
    body: undefined
    answer: {
      /** 0 to 100 elements. */
      transcripts: Array<{
        /** Names one session of whispering. */
        contentId: UUID
        startedAt: Timestamp
        /** Absent while the stream goes on. */
        endedAt?: Timestamp | null
        /** How many are stored. 0 to 9007199254740991. */
        lines: number
        /** Of their ciphertexts. 0 to 9007199254740991. */
        bytes: number
        /** When the lines go. While the stream goes on: when they would, if it ended now. */
        expiresAt: Timestamp
      }>
      /** There are more. 1 to 64 characters. */
      nextCursor?: string | null
    }
  }
  /** Lines in the order of their numbers, as the whisperer has sealed them. An answer has at most 480000 bytes. */
  "GET /live/{conversationId}/transcripts/{contentId}": {
    parameters: {
      conversationId: UUID
      contentId: UUID
      /** Lines up to this one are left out. 0 to 2147483647. */
      after?: number | null
      /** 1 to 500. */
      limit?: number | null
    }
    body: undefined
    answer: {
      /** 0 to 500 elements. */
      lines: Array<{
        /** 1 to 2147483647. */
        line: number
        /** 1 to 9007199254740991. */
        epoch: number
        /** 1 to 9007199254740991. */
        seq: number
        /** 1 to 2147483647. */
        generation: number
        /** 12 bytes. */
        nonce: Base64
        /** 17 to 12288 bytes. */
        ciphertext: Base64
        storedAt: Timestamp
      }>
      /** The stream has not ended: more lines may come. */
      isOpen: boolean
      /** There are more lines: the value for `after`. 1 to 2147483647. */
      nextLine?: number | null
    }
  }
  /** Deletes the lines that are stored, and their shares. Of a stream that goes on, later lines are kept. */
  "DELETE /live/{conversationId}/transcripts/{contentId}": {
    parameters: {
      conversationId: UUID
      contentId: UUID
    }
    body: undefined
    answer: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Makes a link to the transcript. What the link's secret opens is sealed: the keys of the lines. A share never outlives its transcript. */
  "POST /live/{conversationId}/transcripts/{contentId}/shares": {
    parameters: {
      conversationId: UUID
      contentId: UUID
    }
    body: {
      protocolVersion: 1
      cryptoVersion: 1
      /** SHA-256 of the share's proof. 32 bytes. */
      shareVerifier: Base64
      /** 12 bytes. */
      nonce: Base64
      /** 17 to 16384 bytes. */
      ciphertext: Base64
      /** 60 to 31536000. */
      expiresInSeconds: number
    }
    answer: {
      shareId: UUID
      expiresAt: Timestamp
    }
  }
  /** Deletes a share, if there is one. */
  "DELETE /live/{conversationId}/shares/{shareId}": {
    parameters: {
      conversationId: UUID
      shareId: UUID
    }
    body: undefined
    answer: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Lines of a transcript, for whoever has the link. The client checks that the id is made from the keys, and the signature of each line. An answer has at most 480000 bytes. */
  "POST /live/shares/{shareId}": {
    parameters: {
      shareId: UUID
    }
    body: {
      protocolVersion: 1
      cryptoVersion: 1
      /** From the secret in the link's fragment. 32 bytes. */
      shareProof: Base64
      /** Lines up to this one are left out. 0 to 2147483647. */
      after?: number | null
      /** 1 to 500. */
      limit?: number | null
    }
    answer: {
      /** CID of contract §14.2. */
      conversationId: UUID
      /** Names one session of whispering. */
      contentId: UUID
      /** Ed25519. 32 bytes. */
      signPublicKey: Base64
      /** X25519. 32 bytes. */
      encPublicKey: Base64
      startedAt: Timestamp
      /** 12 bytes. */
      nonce: Base64
      /** 17 to 16384 bytes. */
      ciphertext: Base64
      /** 0 to 500 elements. */
      lines: Array<{
        /** 1 to 2147483647. */
        line: number
        /** 1 to 9007199254740991. */
        epoch: number
        /** 1 to 9007199254740991. */
        seq: number
        /** 1 to 2147483647. */
        generation: number
        /** 12 bytes. */
        nonce: Base64
        /** 17 to 12288 bytes. */
        ciphertext: Base64
        storedAt: Timestamp
      }>
      /** The stream has not ended: more lines may come. */
      isOpen: boolean
      /** There are more lines: the value for `after`. 1 to 2147483647. */
      nextLine?: number | null
    }
  }
  /** The rooms in which the caller has a seat, as `room_list` shows them. For an app that a push has woken. To come back to one, the app sends `room_join` on a WebSocket. */
  "GET /rooms": {
    parameters: {}
    body: undefined
    answer: {
      /** 0 to 64 elements. */
      rooms: Array<{
        roomId: UUID
        /** Who may change the room. */
        host: WhisperID | GuestID
        /** 2 to 8. */
        participantsMax: number
        /** Nobody new may join. */
        isLocked: boolean
        /** Counts the changes. The newest state counts. 1 to 9007199254740991. */
        revision: number
        state: "pending" | "accepted" | "closed"
        /** When the room ends, if nobody connects any more. */
        expiresAt: Timestamp
        /** 0 to 8 elements. */
        participants: Array<{
          participant: WhisperID | GuestID
          /** From 1. Of each pair the one with the lower seat offers. 1 to 2147483647. */
          seat: number
          via: "creator" | "code" | "link"
          isConnected: boolean
          joinedAt: Timestamp
          /** Ed25519. 32 bytes. */
          signPublicKey: Base64
          /** X25519. 32 bytes. */
          encPublicKey: Base64
        }>
      }>
    }
  }
  /** The listener's page. It is the same for every well-formed id: the id's secret stands in the fragment, which no browser sends, and the page asks `lookAtConversation` itself. */
  "GET /listen/{conversationId}": {
    parameters: {
      conversationId: UUID
    }
    body: undefined
    answer: string
  }
  /** The listener's page. It is the same for every well-formed id: the id's secret stands in the fragment, which no browser sends, and the page asks `lookAtConversation` itself. */
  "GET /listen/{conversationId}/{name}": {
    parameters: {
      conversationId: UUID
      /** For people who read links. 1 to 200 characters. */
      name: string
    }
    body: undefined
    answer: string
  }
  /** The page of a shared transcript. It is the same for every well-formed id: the share's secret stands in the fragment, and the page asks `readShare` itself. */
  "GET /transcript/{shareId}": {
    parameters: {
      shareId: UUID
    }
    body: undefined
    answer: string
  }
  /** The page of rooms: come in by a code, or start a room. With `?relay` in the address it talks over relays alone, so that the others do not learn the reader's network address. */
  "GET /join": {
    parameters: {}
    body: undefined
    answer: string
  }
  /** The page of rooms, for a room's link. It is the same for every well-formed id; the secret is in the fragment. */
  "GET /join/{roomId}": {
    parameters: {
      roomId: UUID
    }
    body: undefined
    answer: string
  }
  /** The page of a link to a person (`https://{host}/add#…`). The person stands in the fragment, so the server does not learn who is looked for. The page asks nothing. */
  "GET /add": {
    parameters: {}
    body: undefined
    answer: string
  }
  /** The page of an invitation (`https://{host}/invite#…`). The token stands in the fragment: opening the page uses nothing up. The page asks nothing. */
  "GET /invite": {
    parameters: {}
    body: undefined
    answer: string
  }
  /** A script, style or icon of the pages. `hash` is that of the release: its files never change. Under the hash of another release there is `start.js` alone, which loads the page again. */
  "GET /web/{hash}/{file}": {
    parameters: {
      /** Hexadecimal, as pages name it. 32 characters. */
      hash: string
      /** 1 to 64 characters. */
      file: string
    }
    body: undefined
    answer: string
  }
  /** The process lives. */
  "GET /health": {
    parameters: {}
    body: undefined
    answer: {
      /** A word for people; the HTTP status decides. 1 to 32 characters. */
      status: string
      /** The release of the process. Operators' listeners alone say it. 1 to 32 characters. */
      version?: string | null
      /** The commit that the process was built from, if it is known. 1 to 64 characters. */
      revision?: string | null
    }
  }
  /** The process can do its work. 503 with the same body while it cannot, or is draining. */
  "GET /ready": {
    parameters: {}
    body: undefined
    answer: {
      /** A word for people; the HTTP status decides. 1 to 32 characters. */
      status: string
      /** Names of the checks that fail. 0 to 32 elements. */
      failing?: Array<string> | null
    }
  }
  /** What the process measures, for Prometheus. */
  "GET /metrics": {
    parameters: {}
    body: undefined
    answer: string
  }
  /** The cluster in numbers. */
  "GET /admin/stats": {
    parameters: {}
    body: undefined
    answer: {
      /** 0 to 9007199254740991. */
      users: number
      /** 0 to 9007199254740991. */
      devices: number
      /** By what their clients said at login (`client`). `unknown`: nothing. */
      devicesByClient: {
        /** 0 to 9007199254740991. */
        phone: number
        /** 0 to 9007199254740991. */
        tablet: number
        /** 0 to 9007199254740991. */
        desktop: number
        /** 0 to 9007199254740991. */
        web: number
        /** 0 to 9007199254740991. */
        terminal: number
        /** 0 to 9007199254740991. */
        daemon: number
        /** 0 to 9007199254740991. */
        bot: number
        /** 0 to 9007199254740991. */
        unknown: number
      }
      /** 0 to 9007199254740991. */
      sessions: number
      /** 0 to 9007199254740991. */
      online: number
      /** 0 to 9007199254740991. */
      pendingMessages: number
      /** 0 to 9007199254740991. */
      groups: number
      attachments: {
        /** 0 to 9007199254740991. */
        count: number
        /** 0 to 9007199254740991. */
        bytes: number
      }
      /** 0 to 9007199254740991. */
      reportsOpen: number
      /** 0 to 9007199254740991. */
      bansActive: number
      /** Seen within 90 days. 0 to 9007199254740991. */
      guests: number
      /** What devices of one person share. 0 to 9007199254740991. */
      profiles: number
      /** Live conversations. 0 to 9007199254740991. */
      conversations: number
      /** Streams that have not ended. 0 to 9007199254740991. */
      streams: number
      /** Who is admitted to a live conversation. 0 to 9007199254740991. */
      listeners: number
      /** Rooms that have not ended. 0 to 9007199254740991. */
      rooms: number
      /** Lines that are kept. 0 to 9007199254740991. */
      transcriptLines: number
    }
  }
  /** Reports, newest first. */
  "GET /admin/reports": {
    parameters: {
      status?: "open" | "dismissed" | "warned" | "banned" | null
      /** 1 to 64 characters. */
      cursor?: string | null
      /** 1 to 100. */
      limit?: number | null
    }
    body: undefined
    answer: {
      /** 0 to 100 elements. */
      reports: Array<{
        id: UUID
        /** Absent once the reporter was erased. */
        reporterId?: WhisperID | null
        targetId: WhisperID
        reason: "spam" | "abuse" | "other"
        /** 0 to 1000 characters. */
        note?: string | null
        /** The target has signed a message, and the server had accepted it for the reporter. Kept when the evidence is gone. */
        evidenceVerified: boolean
        status: "open" | "dismissed" | "warned" | "banned"
        createdAt: Timestamp
        reviewedAt?: Timestamp | null
      }>
      /** Only when there is more. 1 to 64 characters. */
      nextCursor?: string | null
    }
  }
  /** Decides a report. `ban` bans the target. */
  "POST /admin/reports/{id}/review": {
    parameters: {
      id: UUID
    }
    body: {
      decision: "dismiss" | "warn" | "ban"
      /** 0 to 1000 characters. */
      note?: string | null
      /** End of the ban, in the future. The ban is permanent if absent. */
      expiresAt?: Timestamp | null
    }
    answer: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Bans an identity or a guest. Its connection ends within 1 s (USER_BANNED, close 4003), and it cannot log in. */
  "POST /admin/ban": {
    parameters: {}
    body: {
      /** This or `guestId`. */
      whisperId?: WhisperID | null
      /** This or `whisperId`. */
      guestId?: GuestID | null
      /** 1 to 1000 characters. */
      reason: string
      /** End of the ban, in the future. The ban is permanent if absent. */
      expiresAt?: Timestamp | null
    }
    answer: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Ends a ban. Sessions that have not expired meanwhile live again. */
  "POST /admin/unban": {
    parameters: {}
    body: {
      /** This or `guestId`. */
      whisperId?: WhisperID | null
      /** This or `whisperId`. */
      guestId?: GuestID | null
      /** 1 to 1000 characters. */
      reason: string
    }
    answer: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Bans that hold now, newest first. */
  "GET /admin/bans": {
    parameters: {
      /** 1 to 64 characters. */
      cursor?: string | null
      /** Default 1000. 1 to 1000. */
      limit?: number | null
    }
    body: undefined
    answer: {
      /** 0 to 1000 elements. */
      bans: Array<{
        /** This or `guestId`. */
        whisperId?: WhisperID | null
        /** This or `whisperId`. */
        guestId?: GuestID | null
        /** 1 to 1000 characters. */
        reason: string
        createdAt: Timestamp
        expiresAt?: Timestamp | null
      }>
      /** Only when there is more. 1 to 64 characters. */
      nextCursor?: string | null
    }
  }
  /** What operators asked and did, and what bans have done; newest first. */
  "GET /admin/audit": {
    parameters: {
      /** 1 to 64 characters. */
      target?: string | null
      /** 1 to 64 characters. */
      cursor?: string | null
      /** 1 to 100. */
      limit?: number | null
    }
    body: undefined
    answer: {
      /** 0 to 100 elements. */
      events: Array<{
        at: Timestamp
        /** `nobody` had no valid token. */
        actor: "operator" | "viewer" | "nobody" | "system"
        /** An operation's name, or what a ban has done. 1 to 64 characters. */
        action: string
        /** An identity, a guest, a report or a message. 1 to 64 characters. */
        target?: string | null
        /** `ok`, or the error code that was answered. 1 to 64 characters. */
        result: string
        /** The reason that was given. 0 to 1000 characters. */
        note?: string | null
      }>
      /** Only when there is more. 1 to 64 characters. */
      nextCursor?: string | null
    }
  }
  /** Where a message stands with each recipient, without its content. Known for 14 days. */
  "GET /admin/messages/{messageId}": {
    parameters: {
      messageId: UUID
    }
    body: undefined
    answer: {
      messageId: UUID
      /** 1 to 1000 elements. */
      deliveries: Array<{
        from: WhisperID
        to: WhisperID
        groupId?: GroupID | null
        status: "pending" | "delivered" | "read" | "expired"
        acceptedAt: Timestamp
        /** When the receipt came. Of a message that has been read: until its sender's client knows of the delivery. */
        deliveredAt?: Timestamp | null
        readAt?: Timestamp | null
        expiredAt?: Timestamp | null
        /** The recipient's last wake-up, if there was one since the message was accepted. */
        push?: {
          at: Timestamp
          /** `apns`, `fcm`, `webpush`, or `log`. 1 to 16 characters. */
          provider: string
          /** `sent`, or why not. 1 to 64 characters. */
          result: string
          wakeId: UUID
          /** When the device was first seen to be back. */
          wokeAt?: Timestamp | null
        } | null
      }>
    }
  }
  /** Failed pushes, newest first. Their mail still waits. Known for 30 days. */
  "GET /admin/push/dead-letters": {
    parameters: {
      /** 1 to 64 characters. */
      cursor?: string | null
      /** 1 to 100. */
      limit?: number | null
    }
    body: undefined
    answer: {
      /** 0 to 100 elements. */
      deadLetters: Array<{
        at: Timestamp
        whisperId: WhisperID
        wakeId: UUID
        kind: "mail" | "call" | "callOver" | "knock"
        /** 1 to 16 characters. */
        provider: string
        /** 1 to 64 characters. */
        reason: string
        /** 0 to 9007199254740991. */
        tries: number
      }>
      /** Only when there is more. 1 to 64 characters. */
      nextCursor?: string | null
    }
  }
  /** Describes the server: its operator, who may register, and how long it keeps mail, ledger and backups. No version, and no number of people. */
  "GET /server": {
    parameters: {}
    body: undefined
    answer: {
      /** 1 to 64 characters. */
      name: string
      registration: "open" | "invited" | "closed"
      /** Whether guests may come: listeners and people in rooms without an identity. */
      guests: boolean
      /** Parts of the contract that are not of its first release. 0 to 64 elements. */
      features: Array<string>
      retention: {
        /** How long mail waits for a recipient who does not come. 1 to 312. */
        pendingHours: number
        /** How long sender, recipient and time of a message are remembered. 1 to 14. */
        ledgerDays: number
        /** How long a backup of the database stays. 1 to 3650. */
        backupDays: number
        /** Days without a login or renewal after which an identity is erased. Absent: never. 90 to 3650. */
        inactiveDays?: number | null
      }
      /** Whether the server keeps who has made an invitation. It never keeps who has come in with one. */
      invitationsKept: boolean
      /** `mailto:` or `https:`. 1 to 200 characters. */
      operator?: string | null
      /** A page, `https:`. 1 to 200 characters. */
      privacy?: string | null
    }
  }
  /** Makes an invitation for one person, by whoever is logged in. Its token is told here, and never again. An identity makes as many in a day as the server's operators allow, which may be none. It may expire sooner than was asked for. */
  "POST /invitations": {
    parameters: {}
    body: {
      protocolVersion: 1
      cryptoVersion: 1
      /** Default: 7 days. 60 to 7776000. */
      expiresInSeconds?: number | null
    }
    answer: {
      /** 22 characters. */
      token: string
      expiresAt: Timestamp
    }
  }
  /** Ends the invitation with this token, whoever has made it. The answer is the same for a token that is unknown. Identities that came with it stay. */
  "POST /invitations/revoke": {
    parameters: {}
    body: {
      protocolVersion: 1
      cryptoVersion: 1
      /** Base64url. Its holder may revoke the invitation. 22 characters. */
      token: string
    }
    answer: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Whether somebody new may register. */
  "GET /admin/registration": {
    parameters: {}
    body: undefined
    answer: {
      mode: "open" | "invited" | "closed"
      /** It is what the setting REGISTRATION says. */
      isDefault: boolean
      changedAt?: Timestamp | null
    }
  }
  /** Opens or closes registration, or makes it need an invitation. It holds for every process from the answer on. Identities that exist log in whatever it is. */
  "PUT /admin/registration": {
    parameters: {}
    body: {
      mode: "open" | "invited" | "closed"
      /** 1 to 1000 characters. */
      reason: string
    }
    answer: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Goes back to the setting REGISTRATION. */
  "DELETE /admin/registration": {
    parameters: {}
    body: undefined
    answer: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Makes an invitation. Its token is told here, and never again: the server keeps a digest. */
  "POST /admin/invitations": {
    parameters: {}
    body: {
      /** Default 1. 1 to 1000. */
      uses?: number | null
      /** Default: 7 days. 60 to 7776000. */
      expiresInSeconds?: number | null
      /** For operators: whom or what it is for. 1 to 64 characters. */
      label?: string | null
      /** Class of rates of those who come in with it. 1 to 32 characters. */
      rateClass?: string | null
    }
    answer: {
      invitationId: UUID
      /** 22 characters. */
      token: string
      expiresAt: Timestamp
    }
  }
  /** Invitations, newest first, without their tokens. One that has ended is listed for 30 days more. */
  "GET /admin/invitations": {
    parameters: {
      /** 1 to 64 characters. */
      cursor?: string | null
      /** 1 to 100. */
      limit?: number | null
    }
    body: undefined
    answer: {
      /** 0 to 100 elements. */
      invitations: Array<{
        invitationId: UUID
        /** 0 to 1000. */
        usesLeft: number
        /** 0 to 1000. */
        usesMax: number
        expiresAt: Timestamp
        revokedAt?: Timestamp | null
        /** For operators: whom or what it is for. 1 to 64 characters. */
        label?: string | null
        /** Class of rates of those who come in with it. 1 to 32 characters. */
        rateClass?: string | null
        createdAt: Timestamp
        /** Somebody has made it, and no operator. */
        byIdentity: boolean
      }>
      /** Only when there is more. 1 to 64 characters. */
      nextCursor?: string | null
    }
  }
  /** Ends an invitation. Identities that came with it stay. Doing it twice changes nothing. */
  "DELETE /admin/invitations/{id}": {
    parameters: {
      id: UUID
    }
    body: undefined
    answer: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Erases an identity or a guest for good, also a banned one. An identity's id and keys are never taken again; a guest's ban ends with it. The person is told nothing. `sentMail` is of no account for a guest. Asked again while the erasure is open, the answer is the same. The audit log names the erasure, not the person. */
  "POST /admin/erasures": {
    parameters: {}
    body: {
      /** This or `guestId`. */
      whisperId?: WhisperID | null
      /** This or `whisperId`. */
      guestId?: GuestID | null
      /** `whisperId` or `guestId` again. 1 to 36 characters. */
      confirm: string
      sentMail: "keep" | "withdraw"
      /** 1 to 1000 characters. */
      reason: string
    }
    answer: {
      erasureId: UUID
      decidedAt: Timestamp
    }
  }
  /** Erasures, newest first, without the ids of persons. */
  "GET /admin/erasures": {
    parameters: {
      /** 1 to 64 characters. */
      cursor?: string | null
      /** 1 to 100. */
      limit?: number | null
    }
    body: undefined
    answer: {
      /** 0 to 100 elements. */
      erasures: Array<{
        erasureId: UUID
        by: "person" | "operator" | "guest" | "retention"
        decidedAt: Timestamp
        finishedAt?: Timestamp | null
        /** Services that have not erased their part yet. 0 to 16 elements. */
        waitingFor: Array<string>
      }>
      /** Only when there is more. 1 to 64 characters. */
      nextCursor?: string | null
    }
  }
  /** How far an erasure is. */
  "GET /admin/erasures/{id}": {
    parameters: {
      id: UUID
    }
    body: undefined
    answer: {
      erasureId: UUID
      by: "person" | "operator" | "guest" | "retention"
      decidedAt: Timestamp
      finishedAt?: Timestamp | null
      /** Services that have not erased their part yet. 0 to 16 elements. */
      waitingFor: Array<string>
    }
  }
  /** The server's records of one identity, in numbers. The audit log names an identity that exists. */
  "GET /admin/identities/{whisperId}": {
    parameters: {
      whisperId: WhisperID
    }
    body: undefined
    answer: {
      whisperId: WhisperID
      createdAt: Timestamp
      /** Day in UTC, as `2026-01-31`, of the newest login or renewal of a session. 10 characters. */
      seenOn: string
      /** As its device says. Absent without a device. */
      platform?: "ios" | "android" | null
      isBanned: boolean
      /** Its class of rates. `GET /admin/rate-classes` says whether the settings know it. 1 to 32 characters. */
      rateClass?: string | null
      /** Stored for it and not acknowledged. Counted to 100,000. 0 to 9007199254740991. */
      waitingMessages: number
      /** 0 to 9007199254740991. */
      groups: number
      /** Uploaded by it and stored. Counted to 100,000. 0 to 9007199254740991. */
      files: number
      /** 0 to 9007199254740991. */
      fileBytes: number
    }
  }
  /** Classes of rates, and who has them. */
  "GET /admin/rate-classes": {
    parameters: {}
    body: undefined
    answer: {
      /** 0 to 1008 elements. */
      classes: Array<{
        /** 1 to 32 characters. */
        name: string
        /** Whether the settings name it. One that they do not name counts as none. */
        isKnown: boolean
        /** A rate that it does not name is as for everybody. 0 to 47 elements. */
        rates: Array<{
          /** 1 to 64 characters. */
          name: string
          /** In a minute. 0 to 9007199254740991. */
          uses: number
          /** At once. 0 to 9007199254740991. */
          burst: number
        }>
        /** Identities that have it. 0 to 1000 elements. */
        whisperIds: Array<WhisperID>
      }>
    }
  }
  /** Gives an identity a class of rates, or takes it away. Gateways know within 5 s. */
  "PUT /admin/identities/{whisperId}/rate-class": {
    parameters: {
      whisperId: WhisperID
    }
    body: {
      /** A class of the setting RATE_CLASSES. Absent: the identity has none from here on. 1 to 32 characters. */
      rateClass?: string | null
      /** 1 to 1000 characters. */
      reason: string
    }
    answer: {
      /** Always `true`. */
      success: boolean
    }
  }
  /** Everything that the server holds about the caller, but sealed contents and records of others. Lists end at 10000 entries; `isTruncated` says that one did. The ledger of messages is not in it: it is kept by message, and only a walk through everybody's would find one person's. */
  "GET /account/export": {
    parameters: {}
    body: undefined
    answer: {
      exportedAt: Timestamp
      whisperId: WhisperID
      createdAt: Timestamp
      /** Day in UTC of the newest login or renewal of a session. 10 characters. */
      seenOn: string
      /** 32 bytes. */
      signPublicKey: Base64
      /** 32 bytes. */
      encPublicKey: Base64
      /** Its class of rates. 1 to 32 characters. */
      rateClass?: string | null
      /** 0 to 10000 elements. */
      devices: Array<{
        deviceId: UUID
        platform: "ios" | "android"
        /** 1 to 64 characters. */
        client?: string | null
        hasPushToken: boolean
        hasVoipToken: boolean
        updatedAt: Timestamp
      }>
      /** 0 to 10000 elements. */
      sessions: Array<{
        deviceId: UUID
        platform: "ios" | "android"
        endsAt: Timestamp
      }>
      ban?: {
        /** 1 to 1000 characters. */
        reason: string
        createdAt: Timestamp
        expiresAt?: Timestamp | null
      } | null
      /** The contacts, as the device has sealed them. */
      backup?: {
        /** 0 to 9007199254740991. */
        sizeBytes: number
        updatedAt: Timestamp
        /** 24 bytes. */
        nonce: Base64
        /** 0 to 1048576 bytes. */
        ciphertext: Base64
      } | null
      /** 0 to 10000 elements. */
      profiles: Array<{
        profileId: UUID
        joinedAt: Timestamp
        /** 0 to 10000 elements. */
        documents: Array<{
          /** 1 to 64 characters. */
          name: string
          /** 0 to 9007199254740991. */
          sizeBytes: number
          updatedAt: Timestamp
        }>
      }>
      /** Made by it. Empty unless the server keeps who has made an invitation. 0 to 10000 elements. */
      invitations: Array<{
        createdAt: Timestamp
        expiresAt: Timestamp
        revokedAt?: Timestamp | null
        isUsed: boolean
      }>
      /** 0 to 10000 elements. */
      reportsMade: Array<{
        reportId: UUID
        target: WhisperID
        /** 1 to 64 characters. */
        reason: string
        /** 0 to 1000 characters. */
        note?: string | null
        isReviewed: boolean
        createdAt: Timestamp
      }>
      /** Reports about the identity. Their texts are of others. 0 to 9007199254740991. */
      reportsAbout: number
      /** Mail that its device has not acknowledged. */
      waiting: {
        /** 0 to 9007199254740991. */
        messages: number
        /** 0 to 9007199254740991. */
        bytes: number
      }
      /** The same, one by one. 0 to 10000 elements. */
      mail: Array<{
        messageId: UUID
        from: WhisperID
        acceptedAt: Timestamp
      }>
      /** News about sent messages that its device has not heard. 0 to 10000 elements. */
      statuses: Array<{
        messageId: UUID
        to: WhisperID
        status: "delivered" | "read" | "expired"
        at: Timestamp
      }>
      /** People it has written to, or who have written to it, of the last 31 days. 0 to 10000 elements. */
      peers: Array<{
        whisperId: WhisperID
        direction: "sent" | "received"
        lastAt: Timestamp
      }>
      /** 0 to 10000 elements. */
      groups: Array<{
        groupId: UUID
        /** 1 to 64 characters. */
        title: string
        role: "owner" | "admin" | "member"
        joinedAt: Timestamp
      }>
      /** 0 to 9007199254740991. */
      groupEventsWaiting: number
      /** When it has put strangers into groups: the times that still count. 0 to 10000 elements. */
      strangersAdded: Array<Timestamp>
      /** 0 to 10000 elements. */
      files: Array<{
        /** 1 to 1024 characters. */
        objectKey: string
        /** 1 to 100 characters. */
        contentType: string
        /** 0 to 9007199254740991. */
        sizeBytes: number
        createdAt: Timestamp
        uploadedAt?: Timestamp | null
      }>
      /** 0 to 10000 elements. */
      filesReceived: Array<{
        messageId: UUID
        linkedAt: Timestamp
        acknowledgedAt?: Timestamp | null
        fetchedAt?: Timestamp | null
      }>
      /** The last wake-up. */
      push?: {
        triedAt: Timestamp
        /** 1 to 64 characters. */
        provider: string
        /** 0 to 200 characters. */
        result: string
        sentAt?: Timestamp | null
        wokeAt?: Timestamp | null
        /** 0 to 9007199254740991. */
        unanswered: number
        /** 0 to 9007199254740991. */
        failures: number
        dueAt?: Timestamp | null
      } | null
      /** Failed pushes. 0 to 10000 elements. */
      deadLetters: Array<{
        at: Timestamp
        /** 1 to 64 characters. */
        kind: string
        /** 1 to 64 characters. */
        provider: string
        /** 0 to 200 characters. */
        reason: string
        /** 0 to 9007199254740991. */
        tries: number
      }>
      /** 0 to 10000 elements. */
      calls: Array<{
        callId: UUID
        with: WhisperID
        direction: "out" | "in"
        isVideo: boolean
        startedAt: Timestamp
        answeredAt?: Timestamp | null
        endedAt?: Timestamp | null
        /** 1 to 64 characters. */
        endReason?: string | null
      }>
      /** 0 to 10000 elements. */
      conversations: Array<{
        conversationId: UUID
        profileId: UUID
        createdAt: Timestamp
        isCreator: boolean
        isLastHolder: boolean
      }>
      /** 0 to 10000 elements. */
      streams: Array<{
        conversationId: UUID
        contentId: UUID
        /** 1 to 64 characters. */
        state: string
        startedAt: Timestamp
        changedAt: Timestamp
      }>
      /** 0 to 9007199254740991. */
      grantsSigned: number
      /** 0 to 10000 elements. */
      transcripts: Array<{
        conversationId: UUID
        contentId: UUID
        /** 0 to 9007199254740991. */
        lines: number
        /** 0 to 9007199254740991. */
        bytes: number
      }>
      /** 0 to 10000 elements. */
      transcriptShares: Array<{
        shareId: UUID
        conversationId: UUID
        contentId: UUID
        expiresAt: Timestamp
      }>
      /** 0 to 9007199254740991. */
      transcriptBytes: number
      /** 0 to 10000 elements. */
      listens: Array<{
        conversationId: UUID
        /** 1 to 64 characters. */
        status: string
        since: Timestamp
        seenAt: Timestamp
      }>
      /** 0 to 10000 elements. */
      rooms: Array<{
        roomId: UUID
        isCreator: boolean
        isHost: boolean
        /** 0 to 9007199254740991. */
        seat?: number | null
        joinedAt?: Timestamp | null
      }>
      /** 0 to 10000 elements. */
      roomsBarred: Array<{
        roomId: UUID
        at: Timestamp
      }>
      /** A list has 10000 entries: there may be more. */
      isTruncated: boolean
      /** What is erased when the person leaves, and by when. 0 to 10000 elements. */
      erasable: Array<{
        /** 1 to 256 characters. */
        about: string
        /** 1 to 256 characters. */
        when: string
      }>
    }
  }
  /** The same document about any identity, also a banned one, or about a guest. The person is told nothing. The audit log names whom it is about and the reason. */
  "POST /admin/exports": {
    parameters: {}
    body: {
      /** This or `guestId`. */
      whisperId?: WhisperID | null
      /** This or `whisperId`. */
      guestId?: GuestID | null
      /** 1 to 1000 characters. */
      reason: string
    }
    answer: {
      exportedAt: Timestamp
      whisperId?: WhisperID | null
      createdAt?: Timestamp | null
      /** Day in UTC of the newest login or renewal of a session. 10 characters. */
      seenOn?: string | null
      /** 32 bytes. */
      signPublicKey: Base64
      /** 32 bytes. */
      encPublicKey: Base64
      /** Its class of rates. 1 to 32 characters. */
      rateClass?: string | null
      /** 0 to 10000 elements. */
      devices?: Array<{
        deviceId: UUID
        platform: "ios" | "android"
        /** 1 to 64 characters. */
        client?: string | null
        hasPushToken: boolean
        hasVoipToken: boolean
        updatedAt: Timestamp
      }> | null
      /** 0 to 10000 elements. */
      sessions?: Array<{
        deviceId: UUID
        platform: "ios" | "android"
        endsAt: Timestamp
      }> | null
      ban?: {
        /** 1 to 1000 characters. */
        reason: string
        createdAt: Timestamp
        expiresAt?: Timestamp | null
      } | null
      /** The contacts, as the device has sealed them. */
      backup?: {
        /** 0 to 9007199254740991. */
        sizeBytes: number
        updatedAt: Timestamp
        /** 24 bytes. */
        nonce: Base64
        /** 0 to 1048576 bytes. */
        ciphertext: Base64
      } | null
      /** 0 to 10000 elements. */
      profiles?: Array<{
        profileId: UUID
        joinedAt: Timestamp
        /** 0 to 10000 elements. */
        documents: Array<{
          /** 1 to 64 characters. */
          name: string
          /** 0 to 9007199254740991. */
          sizeBytes: number
          updatedAt: Timestamp
        }>
      }> | null
      /** Made by it. Empty unless the server keeps who has made an invitation. 0 to 10000 elements. */
      invitations?: Array<{
        createdAt: Timestamp
        expiresAt: Timestamp
        revokedAt?: Timestamp | null
        isUsed: boolean
      }> | null
      /** 0 to 10000 elements. */
      reportsMade?: Array<{
        reportId: UUID
        target: WhisperID
        /** 1 to 64 characters. */
        reason: string
        /** 0 to 1000 characters. */
        note?: string | null
        isReviewed: boolean
        createdAt: Timestamp
      }> | null
      /** Reports about the identity. Their texts are of others. 0 to 9007199254740991. */
      reportsAbout?: number | null
      /** Mail that its device has not acknowledged. */
      waiting?: {
        /** 0 to 9007199254740991. */
        messages: number
        /** 0 to 9007199254740991. */
        bytes: number
      } | null
      /** The same, one by one. 0 to 10000 elements. */
      mail?: Array<{
        messageId: UUID
        from: WhisperID
        acceptedAt: Timestamp
      }> | null
      /** News about sent messages that its device has not heard. 0 to 10000 elements. */
      statuses?: Array<{
        messageId: UUID
        to: WhisperID
        status: "delivered" | "read" | "expired"
        at: Timestamp
      }> | null
      /** People it has written to, or who have written to it, of the last 31 days. 0 to 10000 elements. */
      peers?: Array<{
        whisperId: WhisperID
        direction: "sent" | "received"
        lastAt: Timestamp
      }> | null
      /** 0 to 10000 elements. */
      groups?: Array<{
        groupId: UUID
        /** 1 to 64 characters. */
        title: string
        role: "owner" | "admin" | "member"
        joinedAt: Timestamp
      }> | null
      /** 0 to 9007199254740991. */
      groupEventsWaiting?: number | null
      /** When it has put strangers into groups: the times that still count. 0 to 10000 elements. */
      strangersAdded?: Array<Timestamp> | null
      /** 0 to 10000 elements. */
      files?: Array<{
        /** 1 to 1024 characters. */
        objectKey: string
        /** 1 to 100 characters. */
        contentType: string
        /** 0 to 9007199254740991. */
        sizeBytes: number
        createdAt: Timestamp
        uploadedAt?: Timestamp | null
      }> | null
      /** 0 to 10000 elements. */
      filesReceived?: Array<{
        messageId: UUID
        linkedAt: Timestamp
        acknowledgedAt?: Timestamp | null
        fetchedAt?: Timestamp | null
      }> | null
      /** The last wake-up. */
      push?: {
        triedAt: Timestamp
        /** 1 to 64 characters. */
        provider: string
        /** 0 to 200 characters. */
        result: string
        sentAt?: Timestamp | null
        wokeAt?: Timestamp | null
        /** 0 to 9007199254740991. */
        unanswered: number
        /** 0 to 9007199254740991. */
        failures: number
        dueAt?: Timestamp | null
      } | null
      /** Failed pushes. 0 to 10000 elements. */
      deadLetters?: Array<{
        at: Timestamp
        /** 1 to 64 characters. */
        kind: string
        /** 1 to 64 characters. */
        provider: string
        /** 0 to 200 characters. */
        reason: string
        /** 0 to 9007199254740991. */
        tries: number
      }> | null
      /** 0 to 10000 elements. */
      calls?: Array<{
        callId: UUID
        with: WhisperID
        direction: "out" | "in"
        isVideo: boolean
        startedAt: Timestamp
        answeredAt?: Timestamp | null
        endedAt?: Timestamp | null
        /** 1 to 64 characters. */
        endReason?: string | null
      }> | null
      /** 0 to 10000 elements. */
      conversations?: Array<{
        conversationId: UUID
        profileId: UUID
        createdAt: Timestamp
        isCreator: boolean
        isLastHolder: boolean
      }> | null
      /** 0 to 10000 elements. */
      streams?: Array<{
        conversationId: UUID
        contentId: UUID
        /** 1 to 64 characters. */
        state: string
        startedAt: Timestamp
        changedAt: Timestamp
      }> | null
      /** 0 to 9007199254740991. */
      grantsSigned?: number | null
      /** 0 to 10000 elements. */
      transcripts?: Array<{
        conversationId: UUID
        contentId: UUID
        /** 0 to 9007199254740991. */
        lines: number
        /** 0 to 9007199254740991. */
        bytes: number
      }> | null
      /** 0 to 10000 elements. */
      transcriptShares?: Array<{
        shareId: UUID
        conversationId: UUID
        contentId: UUID
        expiresAt: Timestamp
      }> | null
      /** 0 to 9007199254740991. */
      transcriptBytes?: number | null
      /** 0 to 10000 elements. */
      listens: Array<{
        conversationId: UUID
        /** 1 to 64 characters. */
        status: string
        since: Timestamp
        seenAt: Timestamp
      }>
      /** 0 to 10000 elements. */
      rooms: Array<{
        roomId: UUID
        isCreator: boolean
        isHost: boolean
        /** 0 to 9007199254740991. */
        seat?: number | null
        joinedAt?: Timestamp | null
      }>
      /** 0 to 10000 elements. */
      roomsBarred: Array<{
        roomId: UUID
        at: Timestamp
      }>
      /** A list has 10000 entries: there may be more. */
      isTruncated: boolean
      /** What is erased when the person leaves, and by when. 0 to 10000 elements. */
      erasable: Array<{
        /** 1 to 256 characters. */
        about: string
        /** 1 to 256 characters. */
        when: string
      }>
      guestId?: GuestID | null
      seenAt?: Timestamp | null
      tokenEndsAt?: Timestamp | null
    }
  }
  /** The server tells which records it keeps, how long, and what ends them. `docs/retention.md` has the same rows. */
  "GET /admin/retention": {
    parameters: {}
    body: undefined
    answer: {
      /** 0 to 100 elements. */
      records: Array<{
        /** 1 to 64 characters. */
        name: string
        /** 1 to 500 characters. */
        about: string
        /** Tables, and beginnings of keys in Redis behind `redis:`. 0 to 64 elements. */
        places: Array<string>
        /** What the time counts from, or what ends it. 1 to 200 characters. */
        until: string
        /** In force, as far as auth is told. 0 to 9007199254740991. */
        seconds?: number | null
        /** Without a setting. 0 to 9007199254740991. */
        usualSeconds?: number | null
        /** 1 to 64 characters. */
        setting?: string | null
        /** 0 to 9007199254740991. */
        leastSeconds?: number | null
        /** 0 to 9007199254740991. */
        mostSeconds?: number | null
        /** 1 to 100 characters. */
        enforcedBy: string
      }>
    }
  }
  /** Removes attachments that nobody needs any more, now instead of later. */
  "POST /admin/attachments/gc/run": {
    parameters: {}
    body: undefined
    answer: {
      /** 0 to 9007199254740991. */
      examined: number
      /** 0 to 9007199254740991. */
      deleted: number
      /** 0 to 9007199254740991. */
      bytesFreed: number
    }
  }
  /** Compares the object store with the table of attachments, one by one. */
  "POST /admin/attachments/audit": {
    parameters: {}
    body: {
      /** Remove what was found: leaked objects, and dangling rows. */
      fix?: boolean | null
    }
    answer: {
      /** In the store. 0 to 9007199254740991. */
      objects: number
      /** 0 to 9007199254740991. */
      rows: number
      /** Objects that no row knows, older than an hour. 0 to 9007199254740991. */
      leaked: number
      /** 0 to 9007199254740991. */
      leakedBytes: number
      /** 0 to 1000 elements. */
      leakedKeys: Array<string>
      /** Rows of uploaded files that the store does not have. 0 to 9007199254740991. */
      dangling: number
      /** 0 to 1000 elements. */
      danglingKeys: Array<string>
      /** 0 to 9007199254740991. */
      fixed: number
    }
  }
}
/** The body of every failure over HTTP. */
export type Failure = {
  error: "NOT_REGISTERED" | "AUTH_FAILED" | "INVALID_PAYLOAD" | "INVALID_TIMESTAMP" | "RATE_LIMITED" | "USER_BANNED" | "NOT_FOUND" | "FORBIDDEN" | "INTERNAL_ERROR"
  /** For people. Never repeats a value that the client sent. 1 to 1000 characters. */
  message: string
  /** Where a client can act on more than the code. */
  reason?: "registrationClosed" | "invitationNeeded" | "invitationInvalid" | "erased" | "confirmationMismatch" | null
}
