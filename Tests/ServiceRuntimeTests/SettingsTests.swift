import Configuration
import Glibc
import Logging
import Telemetry
import Testing

@testable import ServiceRuntime

@Suite struct SettingsTests {
    private func settings(_ environment: [String: String]) -> Settings {
        Settings(ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: environment)))
    }

    @Test func keysAreReadFromTheEnvironmentInCapitals() throws {
        let settings = self.settings([
            "OPS_PORT": "8090", "REDIS_PASSWORD": "s", "RATE_LIMIT_SCALE": "2.5", "LOG_LEVEL": "debug",
            "TRUSTED_PROXIES": "10.0.0.1, ::1 ,,",
        ])
        #expect(try settings.opsAddress() == ListenAddress(host: "127.0.0.1", port: 8_090))
        #expect(try settings.redis().port == 6_379)
        #expect(try settings.redis().password?.revealed == "s")
        #expect(try settings.rateLimitScale() == 2.5)
        #expect(try settings.choice("log.level", default: Logger.Level.notice) == .debug)
        #expect(settings.trustedProxies() == ["10.0.0.1", "::1"])
        #expect(try settings.instance() == 1)
    }

    @Test(arguments: ["0", "65536", "80x", "8 0", "1e3", "-1"])
    func aValueOutsideItsRangeIsNamedWithKeyAndRange(value: String) {
        let error = #expect(throws: SettingsError.self) { try self.settings(["OPS_PORT": value]).opsAddress() }
        #expect(error?.description == "OPS_PORT is \"\(value)\", must be an integer in 1...65535")
    }

    @Test func aNumberIsNotTakenForItsDefaultWhenItIsMalformed() {
        #expect(throws: SettingsError.self) { try self.settings(["RATE_LIMIT_SCALE": "fast"]).rateLimitScale() }
        #expect(throws: SettingsError.self) { try self.settings(["RATE_LIMIT_SCALE": "nan"]).rateLimitScale() }
        #expect(throws: SettingsError.self) {
            try self.settings(["LOG_LEVEL": "loud"]).choice("log.level", default: Logger.Level.notice)
        }
    }

    @Test func aRequiredKeyMustBeSetAndNotEmpty() {
        for environment in [[:], ["OPS_PORT": ""]] {
            let error = #expect(throws: SettingsError.self) { try self.settings(environment).opsAddress() }
            #expect(error?.description == "OPS_PORT must be set")
        }
        #expect(throws: SettingsError.missing(key: "postgres.url")) { try self.settings([:]).postgres() }
    }

    @Test func anOptionalSecretMayBeAbsent() throws {
        #expect(try self.settings([:]).redis().password == nil)
    }

    @Test func aSecretMayStandInAFile() throws {
        let file = try TemporarySecret("open sesame\n")
        defer { file.remove() }
        #expect(try self.settings(["REDIS_PASSWORD_FILE": file.path]).redis().password?.revealed == "open sesame")
        #expect(try self.settings(["ADMIN_TOKEN_FILE": file.path]).optionalSecret("admin.token")?.revealed == "open sesame")
        // Two sources: one of them would be wrong after a rotation.
        #expect(throws: SettingsError.ambiguous(key: "redis.password", other: "redis.password.file")) {
            try self.settings(["REDIS_PASSWORD_FILE": file.path, "REDIS_PASSWORD": "s"]).redis()
        }
    }

    @Test(arguments: [nil, "", "\n", String(repeating: "x", count: 65_537)])
    func aSecretThatIsNamedMustBeThere(contents: String?) throws {
        let file = try TemporarySecret(contents)
        defer { file.remove() }
        let error = #expect(throws: SettingsError.self) { try self.settings(["REDIS_PASSWORD_FILE": file.path]).redis() }
        #expect(error?.description == "REDIS_PASSWORD_FILE: no secret can be read from \(file.path)")
    }

    @Test func aRedisUserNeedsAPassword() throws {
        #expect(throws: SettingsError.missing(key: "redis.password")) { try self.settings(["REDIS_USER": "gateway"]).redis() }
        let redis = try self.settings(["REDIS_USER": "gateway", "REDIS_PASSWORD": "s", "REDIS_TLS_AUTHORITY": "/ca.pem"]).redis()
        #expect(redis.user == "gateway")
        #expect(redis.authorityFile == "/ca.pem")
    }

    @Test(arguments: [
        ("host=db user=a", "s'3\\", #"host=db user=a password='s\'3\\'"#),
        ("postgresql://a@db/whisper", "s'3/é", "postgresql://a@db/whisper?password=s%273%2F%C3%A9"),
        ("postgres://a@db/whisper?sslmode=require", "s", "postgres://a@db/whisper?sslmode=require&password=s"),
    ])
    func thePasswordOfPostgresMayStandApart(url: String, password: String, expected: String) throws {
        let settings = self.settings(["POSTGRES_URL": url, "POSTGRES_PASSWORD": password])
        #expect(try settings.postgres().revealed == expected)
    }

    @Test func anInstanceMayBeNumberedByItsHost() throws {
        let number = try self.settings(["INSTANCE": "host"]).instance()
        #expect((1...9_999).contains(number))
        #expect(try self.settings(["INSTANCE": "host"]).instance() == number)
        #expect(Settings.number(ofHost: "a1b2c3", in: 1...9_999) != Settings.number(ofHost: "a1b2c4", in: 1...9_999))
        #expect(throws: SettingsError.self) { try self.settings(["INSTANCE": "guest"]).instance() }
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
