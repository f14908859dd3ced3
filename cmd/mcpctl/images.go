package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpctl/mcpctl/internal/iostreams"
	"github.com/mcpctl/mcpctl/internal/render"
)

// imagesVariable says how images are shown where --images does not.
const imagesVariable = "MCPCTL_IMAGES"

// imageFlags say whether and how images are shown on a terminal.
type imageFlags struct{ images imagesValue }

// imagesValue is a flag with one of iostreams.PictureModes.
type imagesValue string

func (v *imagesValue) Set(s string) error {
	if err := iostreams.CheckPictureMode(s); err != nil {
		return err
	}
	*v = imagesValue(s)
	return nil
}

func (v *imagesValue) String() string { return string(*v) }
func (v *imagesValue) Type() string   { return "how" }

func (f *imageFlags) register(a *app, cmd *cobra.Command) {
	cmd.Flags().AddFlag(&pflag.Flag{
		Name: "images", Value: &f.images,
		Usage: "`how` a terminal shows images (" + strings.Join(iostreams.PictureModes(), ", ") + ")",
	})
	a.completeFlagWith(cmd, "images", cobra.FixedCompletions(iostreams.PictureModes(), cobra.ShellCompDirectiveNoFileComp))
}

// showImages prepares for how images are shown.
func (a *app) showImages(f *imageFlags) error {
	if value, _ := a.lookup(imagesVariable); f.images == "" && value != "" {
		if err := iostreams.CheckPictureMode(value); err != nil {
			return usagef("%s: %s", imagesVariable, err).hint("unset it, or give --images")
		}
	}
	a.images = string(f.images)
	return nil
}

// pictures says how images are shown on standard output's terminal, or with out false on standard error's.
func (a *app) pictures(out bool) render.Pictures {
	mode := a.images
	if mode == "" {
		mode, _ = a.lookup(imagesVariable)
	}
	protocol := a.io.Pictures(mode, out)
	if protocol == "" {
		return render.Pictures{}
	}
	p := render.Pictures{Protocol: protocol, Tmux: a.io.Tmux()}
	p.Width, p.Height, p.Rows = a.io.Room(out)
	return p
}
