import ClusterContract
import Contract
import Testing

/// Relations between limits that clients see, and between those that services share.
@Suite struct LimitTests {
    private static let message = base64Characters(Limits.ciphertextBytesMax)

    private static func base64Characters(_ bytes: Int) -> Int { (bytes + 2) / 3 * 4 }

    @Test func theLargestMessageFitsIntoAFrameAndAPage() {
        #expect(Limits.textCiphertextBytesMax < Limits.ciphertextBytesMax)
        // A quarter is left for the other fields.
        #expect(Self.message <= Limits.frameBytesMax * 3 / 4)
        #expect(Self.message <= Limits.pageBytesMax * 3 / 4)
        #expect(Limits.pageBytesMax < Limits.frameBytesMax)
        #expect(Limits.groupEventsBytesMax < Limits.pageBytesMax)
        #expect(Limits.fetchPendingDefault <= Limits.fetchPendingMax)
    }

    @Test func aStrangersRoomIsAPartOfTheMailbox() {
        #expect(Limits.strangerMessagesMax < Limits.strangersMessagesMax)
        #expect(Limits.strangersMessagesMax < Limits.mailboxMessagesMax)
        #expect(Limits.strangerBytesMax < Limits.strangersBytesMax)
        #expect(Limits.strangersBytesMax < Limits.mailboxBytesMax)
        #expect(Limits.strangerBytesMax >= Limits.frameBytesMax)
        #expect(Limits.strangerBackupBytesMax < Limits.backupBytesMax)
        #expect(Limits.groupsByStrangersMax < Limits.groupsJoinedMax)
        #expect(Limits.groupsOwnedMax <= Limits.groupsJoinedMax)
    }

    @Test func aSessionOutlivesWhatBelongsToIt() {
        #expect(Limits.challengeTTL < Limits.sessionTTL)
        #expect(Limits.refreshOverlap < Limits.sessionTTL)
        #expect(Limits.pendingTTL < Limits.sessionTTL)
    }

    /// Two pings may be lost.
    @Test func aLivingClientIsNotIdle() {
        #expect(Limits.serverPingInterval * 3 < Limits.idleTimeout)
        #expect(Limits.framesPerSecond <= Limits.framesBurst)
        #expect(Limits.resendWithin < Limits.idleTimeout)
    }

    @Test func aCallIsRememberedWhileItRings() {
        #expect(Limits.callRingTime < Limits.callUnansweredTTL)
        #expect(Limits.callUnansweredTTL < Limits.callAnsweredTTL)
        #expect(Limits.callRingTime < Limits.turnCredentialsTTL)
        #expect(Limits.callAnsweredTTL <= Limits.turnCredentialsTTL)
    }

    @Test func theLargestAttachmentCanBeStored() {
        #expect(Limits.imageBytesMax <= Limits.audioBytesMax)
        #expect(Limits.audioBytesMax <= Limits.fileBytesMax)
        #expect(Limits.fileBytesMax < Limits.attachmentQuotaBytes)
        #expect(Int64(Limits.uploadPartsMax) * Limits.uploadPartBytes >= Limits.fileBytesMax)
    }

    /// Nobody begins what its client may have been told has failed.
    @Test func aRequestIsTooOldBeforeItsClientIsToldSo() {
        #expect(ClusterLimits.frameAgeMax + .seconds(1) <= ClusterLimits.answerMax)
        #expect(ClusterLimits.answerMax < Limits.serverPingInterval)
    }
}
