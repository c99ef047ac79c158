"""The pages of wink, and what makes and checks them."""
