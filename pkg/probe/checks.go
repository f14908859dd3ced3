package probe

// Checks returns all checks, in the order of the road that a request takes. A new check is a file with one function, and
// a line here.
func Checks() []Check {
	return []Check{
		configEntry(),
		configVariables(),
		configSecrets(),
		configFile(),
		configNetwork(),
		commandFound(),
		netDNS(),
		netTCP(),
		netTLS(),
		httpEndpoint(),
		authAccess(),
		sessionOpen(),
		sessionReuse(),
		sessionNoise(),
		protocolPing(),
		protocolUnknownMethod(),
		protocolCapabilities(),
		toolsList(),
		toolsNames(),
		toolsSchemas(),
		configTools(),
		resourcesList(),
		promptsList(),
		clientCommand(),
		clientEnvironment(),
		clientPlaceholders(),
		clientStartLimit(),
		clientTools(),
		clientNames(),
		callHealth(),
		clientDifference(),
		recoveryKill(),
		recoveryFresh(),
		recoveryRequest(),
		recoverySoak(),
		shutdownClose(),
	}
}
