import ClusterContract
import Contract
import Testing
import WhisperClient

/// Relations between the client's times and the server's.
@Suite struct LimitTests {
    /// The server answers in time, or says that it cannot.
    @Test func theClientWaitsLongerThanTheServer() {
        #expect(ClusterLimits.answerMax < ClientLimits.answerTimeout)
        #expect(ClientLimits.answerTimeout < ClientLimits.loginTimeout)
    }

    @Test func aClientThatPingsIsNotIdle() {
        #expect(ClientLimits.pingInterval.upperBound + ClientLimits.pongTimeout < Limits.idleTimeout)
        #expect(ClientLimits.refreshAhead < Limits.sessionTTL)
    }

    @Test func receiptsStayBelowTheServersRates() {
        let inAMinute = ClientLimits.receiptsBurst + 60 * ClientLimits.receiptsPerSecond
        #expect(inAMinute <= Rates.receipts.uses)
        // Messages under way, a fetch, a ping and a refresh go beside them.
        #expect(ClientLimits.receiptsBurst + ClientLimits.messagesUnderWayMax + 3 <= Limits.framesBurst)
        #expect(ClientLimits.receiptsPerSecond < Limits.framesPerSecond)
        #expect(ClientLimits.readMarksUnderWayMax <= ClientLimits.receiptsBurst)
    }

    @Test func whatIsSaidInRoomsFitsIntoItsChannel() {
        #expect(2 * TalkLimits.textBytesMax < TalkLimits.messageBytesMax)
        #expect(TalkLimits.waitingMessagesMax <= TalkLimits.rememberedIDsMax)
        #expect(TalkLimits.waitingBytesMax + TalkLimits.messageBytesMax < TalkLimits.bufferedMax)
        #expect(TalkLimits.bufferedLow < TalkLimits.bufferedMax)
        // Data for everybody in one room fits among the events that wait.
        #expect(TalkLimits.writesMax * Int(RoomLimits.participants.upperBound) < ClientLimits.eventsWaitingMax)
    }

    @Test func whatFitsIntoAFrameFitsIntoTheClient() {
        #expect(ClientLimits.textBytesMax < Limits.textCiphertextBytesMax)
        #expect(ClientLimits.quarantinedBytesMax >= 8 * Limits.frameBytesMax)
    }
}
