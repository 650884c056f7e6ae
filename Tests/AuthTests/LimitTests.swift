import AuthCore
import ClusterContract
import Contract
import HTTPAccess
import OperatorsCore
import Store
import Testing

/// Relations between the bounds of auth's two cores and the limits of the contract.
@Suite struct LimitTests {
    /// A claimed frame is too old to begin, so no login is carried out twice.
    @Test func aJobIsClaimedWhenNobodyIsAtWorkOnIt() {
        let statement = PostgresConfiguration(url: "", applicationName: "").statementTimeout
        #expect(statement < AuthLimits.claimIdle)
        #expect(ClusterLimits.answerMax < AuthLimits.claimIdle)
        #expect(AuthLimits.claimEvery < AuthLimits.claimIdle)
        #expect(AuthLimits.busPause < AuthLimits.takeBlockMax)
        #expect(AuthLimits.connectionsMax <= AuthLimits.jobsInFlightMax)
    }

    @Test func theCacheForgetsBeforeSessionsEnd() {
        #expect(AuthLimits.cacheLifeMax < Limits.sessionTTL)
        #expect(AuthLimits.sweepEvery < AuthLimits.cacheLifeMax)
    }

    @Test func theLargestBackupFitsIntoItsBody() {
        #expect(AuthLimits.backupBodyBytesMax >= Limits.backupBytesMax * 4 / 3 + 4_096)
    }

    @Test func theLargestDocumentOfAProfileFitsIntoItsBody() {
        #expect(AuthLimits.profileDocumentBodyBytesMax >= Limits.profileDocumentBytesMax * 4 / 3 + 4_096)
        #expect(Limits.profileDocumentBytesMax > Limits.sealedBytesMin)
    }

    @Test func strangersKeepLess() {
        #expect(Limits.profileDocumentBytesMax <= Limits.profileBytesMax)
        #expect(Limits.strangerProfileBytesMax < Limits.profileBytesMax)
        #expect(Limits.unknownEvidenceBytesMax < Limits.openEvidenceBytesMax)
        // The largest evidence that a frame can bring finds room.
        #expect(Limits.frameBytesMax < Limits.openEvidenceBytesMax)
        #expect(Limits.profileBytesMax < Limits.strangersStoreBytesMax)
        #expect(AuthLimits.profileTouchEvery * 30 < Limits.profileTTL)
        // No sum is older than a minute, and not every process counts.
        #expect(StrangerLimits.countAge < StrangerLimits.sweepEvery)
        #expect(StrangerLimits.sweepEvery < .seconds(60))
    }

    /// An identity with a session has been seen within its life.
    @Test func nobodyWithASessionIsInactive() throws {
        let least = try #require(KeptRecord.inactive.setting?.least)
        #expect(Limits.sessionTTL + AuthLimits.sweepEvery < least)
        #expect(AuthLimits.sweepEvery * 2 < AuthLimits.inactivityBreakMax)
        let sweepsPerHour = Int64(Duration.seconds(3_600) / AuthLimits.sweepEvery)
        #expect(Int64(AuthLimits.inactiveErasedPerSweep) * sweepsPerHour >= AuthLimits.inactiveErasedPerHour)
    }

    @Test func operatorsSeeWhatIsKept() {
        #expect(OperatorsLimits.evidenceLife <= OperatorsLimits.reportLife)
        #expect(OperatorsLimits.recordSweepEvery < OperatorsLimits.evidenceLife)
        #expect(OperatorsLimits.banSweepEvery * 2 < OperatorsLimits.banRepeatedFor)
        #expect((1..<100).contains(OperatorsLimits.databaseCarePercent))
        #expect(OperatorsLimits.consoleOverviewEntries <= OperatorsLimits.consolePageEntries)
        #expect(OperatorsLimits.consoleRefreshEvery < OperatorsLimits.consoleSessionLife)
        #expect(ClusterLimits.presencesPerReadMax <= OperatorsLimits.onlineSampleMax)
    }
}
