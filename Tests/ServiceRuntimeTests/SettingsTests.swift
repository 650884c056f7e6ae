import Configuration
import ClusterContract
import Contract
import Glibc
import Telemetry
import Testing

@testable import ServiceRuntime

/// One of each kind.
private struct SampleSettings: ServiceSettings {
    let process = ProcessSettings()
    let redis = RedisSettings()
    let postgres = PostgresSettings()
    let rates = RateSettings()
    let rateClasses = RateClassSettings()
    let admin = AdminSettings()
    let proxies = Setting("trusted.proxies", .list, default: "", "Whom to believe.")
    let pause = Setting("pause.seconds", .seconds(in: 1...60), needed: "with LOG_LEVEL", "A pause.")
    let isAllowed = Setting("is.allowed", .truth, default: "false", "Whether.")
    let key = Setting("signing.secret", .secret(charactersMin: 8), "A key.")
    let folder = Setting(optional: "folder", .absolutePath, "A folder.")
    let least = Setting("least", .integer(in: 0...9), default: "3", "The least.")
    let most = Setting("most", .integer(in: 0...9), default: "5", "The most.")
}

@Suite struct SettingsTests {
    private func settings(_ environment: [String: String]) -> Settings<SampleSettings> {
        Settings(
            SampleSettings(),
            from: ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: environment)))
    }

    @Test func keysAreReadFromTheEnvironmentInCapitals() throws {
        let settings = self.settings([
            "OPS_PORT": "8090", "REDIS_PASSWORD": "s", "RATE_LIMIT_SCALE": "2.5", "LOG_LEVEL": "debug",
            "TRUSTED_PROXIES": "10.0.0.1, ::1 ,,", "PAUSE_SECONDS": "7", "IS_ALLOWED": "true", "FOLDER": "/srv",
        ])
        #expect(try settings.process.ops.address() == ListenAddress(host: "127.0.0.1", port: 8_090))
        #expect(try settings.redis.access().port == 6_379)
        #expect(try settings.redis.access().password?.revealed == "s")
        #expect(try settings.rates.scale == 2.5)
        #expect(try settings.process.logLevel == .debug)
        #expect(try settings.proxies == ["10.0.0.1", "::1"])
        #expect(try settings.process.instance == 1)
        #expect(try settings.pause == .seconds(7))
        #expect(try settings.isAllowed)
        #expect(try settings.folder == "/srv")
    }

    @Test func whatIsAbsentIsAsItIsListed() throws {
        let settings = self.settings(["FOLDER": "", "TRUSTED_PROXIES": ""])
        #expect(try settings.process.logLevel == .notice)
        #expect(try settings.rates.scale == 1)
        #expect(try settings.proxies == [])
        #expect(try settings.folder == nil)
        #expect(try settings.isAllowed == false)
    }

    @Test(arguments: ["0", "65536", "80x", "8 0", "1e3", "-1"])
    func aValueOutsideItsRangeIsNamedWithKeyAndRange(value: String) {
        let error = #expect(throws: SettingsError.self) { try self.settings(["OPS_PORT": value]).process.ops.address() }
        #expect(error?.description == "OPS_PORT is \"\(value)\", must be an integer in 1...65535")
    }

    @Test func aValueIsNotTakenForItsDefaultWhenItIsMalformed() {
        #expect(throws: SettingsError.self) { try self.settings(["RATE_LIMIT_SCALE": "fast"]).rates.scale }
        #expect(throws: SettingsError.self) { try self.settings(["RATE_LIMIT_SCALE": "nan"]).rates.scale }
        #expect(throws: SettingsError.self) { try self.settings(["LOG_LEVEL": "loud"]).process.logLevel }
        #expect(throws: SettingsError.self) { try self.settings(["IS_ALLOWED": "yes"]).isAllowed }
        #expect(throws: SettingsError.self) { try self.settings(["FOLDER": "srv"]).folder }
        #expect(throws: SettingsError.self) { try self.settings(["PAUSE_SECONDS": "61"]).pause }
    }

    @Test func singleRatesMayBeChanged() throws {
        let rates = try self.settings(["RATE_LIMITS": "report=5/2, send_message=240", "RATE_LIMIT_SCALE": "2"]).rates
            .table()
        #expect(rates.allowance(of: Rates.reports) == Allowance(perMinute: 10, burst: 4))
        #expect(rates.allowance(of: Rates.sendMessage) == Allowance(perMinute: 480, burst: 480))
        #expect(rates.allowance(of: Rates.presign) == Allowance(perMinute: 120, burst: 120))
        // Two a day.
        #expect(rates.allowance(of: Rates.accountExport) == Allowance(perMinute: 2 / 1_440 * 2, burst: 4))
    }

    @Test(arguments: [
        "report", "report=", "report=0", "report=x", "report=5/", "report=5/0", "report=1/2/3", "other=5",
        "report=5,report=6", "=5",
    ])
    func aRateThatIsNoneIsRefused(text: String) {
        #expect(throws: SettingsError.self) { try self.settings(["RATE_LIMITS": text]).rates.table() }
    }

    @Test func classesOfRatesAreNamed() throws {
        let usual = try self.settings([:]).rateClasses.value()
        #expect(usual == .usual && usual.all.map(\.name.description) == ["bot"])
        #expect(usual.all[0].changes.count == 6)
        #expect(usual.all[0].changes["send_message"] == RateTable.Change(uses: 1_200, burst: 1_200))
        #expect(usual.all[0].changes["calls"] == RateTable.Change(uses: 20, burst: 20))
        let two = try self.settings(["RATE_CLASSES": "bot: send_message=12000/300,typing=5 ;feed-2:calls=40"])
            .rateClasses.value()
        #expect(two.all.map(\.name.description) == ["bot", "feed-2"])
        #expect(two.all[0].changes["send_message"] == RateTable.Change(uses: 12_000, burst: 300))
        #expect(two.known(RateClassName("feed-2")) != nil && two.known(RateClassName("feed-3")) == nil)
        #expect(try self.settings(["RATE_CLASSES": "none"]).rateClasses.value() == .none)
        let eight = (1...8).map { "c\($0): calls=1" }.joined(separator: ";")
        #expect(try self.settings(["RATE_CLASSES": eight]).rateClasses.value().all.count == 8)
    }

    @Test(arguments: [
        "bot", "bot:", "bot: calls", "bot: calls=0", "bot: calls=1/2/3", "bot: calls=1,calls=2", "bot: other=5",
        "Bot: calls=1", "b o t: calls=1", "none: calls=1", ": calls=1", "a: b: calls=1", "bot: calls=1;",
        "bot: calls=1; bot: calls=2",
        // A hundred times the default, and one more: uses and burst.
        "bot: send_message=12001", "bot: send_message=1/12001",
        // Rates of addresses, of HTTP, and those that fail closed.
        "bot: register=1", "bot: keys=1", "bot: account=1", "bot: room_guess=1",
        "a:calls=1;b:calls=1;c:calls=1;d:calls=1;e:calls=1;f:calls=1;g:calls=1;h:calls=1;i:calls=1",
    ])
    func aClassOfRatesThatIsNoneIsRefused(text: String) {
        let error = #expect(throws: SettingsError.self) {
            try self.settings(["RATE_CLASSES": text]).rateClasses.value()
        }
        #expect(error?.description.hasPrefix("RATE_CLASSES is \"\(text)\", must be at most 8 classes like") == true)
    }

    @Test func aRequiredKeyMustBeSetAndNotEmpty() {
        for environment in [[:], ["OPS_PORT": ""]] {
            let error = #expect(throws: SettingsError.self) { try self.settings(environment).process.ops.address() }
            #expect(error?.description == "OPS_PORT must be set")
        }
        #expect(throws: SettingsError.missing(key: "postgres.url")) { try self.settings([:]).postgres.conninfo() }
    }

    @Test func anOptionalSecretMayBeAbsent() throws {
        #expect(try self.settings([:]).redis.access().password == nil)
    }

    @Test func aSecretIsNotShownWhenItIsRefused() {
        let error = #expect(throws: SettingsError.self) { try self.settings(["SIGNING_SECRET": "hunter2"]).key }
        #expect(error?.description == "SIGNING_SECRET is \"***\", must be a secret of at least 8 characters")
    }

    @Test func aSecretMayStandInAFile() throws {
        let file = try TemporarySecret("open sesame\n")
        defer { file.remove() }
        #expect(
            try self.settings(["REDIS_PASSWORD_FILE": file.path]).redis.access().password?.revealed == "open sesame")
        #expect(try self.settings(["ADMIN_TOKEN_FILE": file.path]).admin.operatorToken?.revealed == "open sesame")
        // Two sources: one of them would be wrong after a rotation.
        #expect(throws: SettingsError.ambiguous(key: "redis.password", other: "redis.password.file")) {
            try self.settings(["REDIS_PASSWORD_FILE": file.path, "REDIS_PASSWORD": "s"]).redis.access()
        }
    }

    @Test(arguments: [nil, "", "\n", String(repeating: "x", count: 65_537)])
    func aSecretThatIsNamedMustBeThere(contents: String?) throws {
        let file = try TemporarySecret(contents)
        defer { file.remove() }
        let error = #expect(throws: SettingsError.self) {
            try self.settings(["REDIS_PASSWORD_FILE": file.path]).redis.access()
        }
        #expect(error?.description == "REDIS_PASSWORD_FILE: no secret can be read from \(file.path)")
    }

    @Test func aRedisUserNeedsAPassword() throws {
        #expect(throws: SettingsError.missing(key: "redis.password")) {
            try self.settings(["REDIS_USER": "gateway"]).redis.access()
        }
        let redis = try self.settings([
            "REDIS_USER": "gateway", "REDIS_PASSWORD": "s", "REDIS_TLS_AUTHORITY": "/ca.pem",
        ])
        .redis.access()
        #expect(redis.user == "gateway")
        #expect(redis.authorityFile == "/ca.pem")
    }

    @Test func nodesOfARedisClusterAreListed() throws {
        #expect(try self.settings([:]).redis.access().nodes.isEmpty)
        let nodes = try self.settings(["REDIS_NODES": "a:1, 10.0.0.2:6379,[fd00::1]:65535"]).redis.access().nodes
        #expect(nodes.map(\.host) == ["a", "10.0.0.2", "fd00::1"])
        #expect(nodes.map(\.port) == [1, 6_379, 65_535])
        for wrong in ["a", "a:0", "a:65536", ":6379", "fd00::1:6379", "a:1;b:2", "a:x"] {
            #expect(throws: SettingsError.self, "\(wrong)") {
                try self.settings(["REDIS_NODES": wrong]).redis.access()
            }
        }
    }

    @Test(arguments: [
        ("host=db user=a", "s'3\\", #"host=db user=a password='s\'3\\'"#),
        ("postgresql://a@db/whisper", "s'3/é", "postgresql://a@db/whisper?password=s%273%2F%C3%A9"),
        ("postgres://a@db/whisper?sslmode=require", "s", "postgres://a@db/whisper?sslmode=require&password=s"),
    ])
    func thePasswordOfPostgresMayStandApart(url: String, password: String, expected: String) throws {
        let settings = self.settings(["POSTGRES_URL": url, "POSTGRES_PASSWORD": password])
        #expect(try settings.postgres.conninfo().revealed == expected)
    }

    @Test func anInstanceMayBeNumberedByItsHost() throws {
        let number = try self.settings(["INSTANCE": "host"]).process.instance
        #expect((1...9_999).contains(number))
        #expect(try self.settings(["INSTANCE": "host"]).process.instance == number)
        #expect(instanceNumber(ofHost: "a1b2c3") != instanceNumber(ofHost: "a1b2c4"))
        #expect(throws: SettingsError.self) { try self.settings(["INSTANCE": "guest"]).process.instance }
    }

    @Test func settingsMayDependOnEachOther() throws {
        for fitting in [[:], ["LEAST": "5"], ["MOST": "3"]] {
            try self.settings(fitting).require(\.least, atMost: \.most)
        }
        try self.settings(["LEAST": "4"]).require(\.least, below: \.most)

        let above = #expect(throws: SettingsError.self) {
            try self.settings(["LEAST": "6"]).require(\.least, atMost: \.most)
        }
        #expect(above?.description == "LEAST is \"6\", must be at most MOST, which is \"5\": change one of them")
        // The same where only the other one was set.
        let equal = #expect(throws: SettingsError.self) {
            try self.settings(["MOST": "3"]).require(\.least, below: \.most)
        }
        #expect(equal?.description == "LEAST is \"3\", must be less than MOST, which is \"3\": change one of them")
    }

    @Test func everyPropertyIsListed() {
        let lines = SettingsList(SampleSettings()).text.split(separator: "\n").map {
            $0.split(separator: "\t").map(String.init)
        }
        #expect(lines.allSatisfy { $0.count == 4 })
        #expect(
            lines.map(\.[0]) == [
                "LOG_LEVEL", "INSTANCE", "OPS_HOST", "OPS_PORT", "REDIS_HOST", "REDIS_PORT", "REDIS_NODES",
                "REDIS_USER", "REDIS_PASSWORD",
                "REDIS_TLS_AUTHORITY", "POSTGRES_URL", "POSTGRES_PASSWORD", "RATE_LIMIT_SCALE", "RATE_LIMITS",
                "RATE_CLASSES", "ADMIN_TOKEN", "VIEWER_TOKEN",
                "TRUSTED_PROXIES", "PAUSE_SECONDS", "IS_ALLOWED", "SIGNING_SECRET", "FOLDER",
                "LEAST", "MOST",
            ])
        #expect(
            lines.contains(["PAUSE_SECONDS", "an integer in 1...60, in seconds", "needed with LOG_LEVEL", "A pause."]))
        #expect(
            lines.contains([
                "OPS_PORT", "an integer in 1...65535", "needed always",
                "Port of the listener for operators; never public.",
            ]))
        #expect(lines.contains(["FOLDER", "an absolute path", "none", "A folder."]))
    }
}

/// A file with a secret, for one test.
private struct TemporarySecret {
    let path = "/tmp/whisper-secret-\(UInt64.random(in: .min ... .max))"

    /// - Parameter contents: nil for a path without a file.
    init(_ contents: String?) throws {
        guard let contents else { return }
        let file = try #require(fopen(self.path, "w"))
        fputs(contents, file)
        fclose(file)
    }

    func remove() { unlink(self.path) }
}
